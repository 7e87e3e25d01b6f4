"""Joins with an archive: results written exactly once, and what they missed found later.

`write` starts a query that writes the results and the archive of a join, micro-batch by
micro-batch. `reconcile` finds the results that were missed. `folders` are written aside and moved
into place as a whole, on any file system that Spark knows.
"""
