"""The parts of `penstock.spark.lookup`: events meet the rows of a relation through a cache."""
