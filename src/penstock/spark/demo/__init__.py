"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, what
that missed delivered later, and events that get their rows from a database.

- `flights` has the streams, and what all of them do with Spark.
- `joins` runs the first one, `show` has its live table, its report and its picture.
- `archives` is the second one, `lookups` the third.

`show`, `archives` and `lookups` have the same functions: `run_demo`, then `shown`, `summarise` and
`draw`.
"""
