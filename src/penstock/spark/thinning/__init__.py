"""The parts of `penstock.spark.precision`: readings become intervals, intervals give answers."""
