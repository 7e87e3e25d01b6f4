"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, and
events that get their rows from a database.

- `joins` runs the first one, `show` has its live table, its report and its picture.
- `lookups` is the second one.
- `quiet` starts Spark without its chatter.
"""
