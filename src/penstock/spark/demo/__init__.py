"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, what
that missed delivered later, and events that get their rows from a database.

- `joins` runs the first one, `show` has its live table, its report and its picture.
- `archives` is the second one, `lookups` the third.
"""
