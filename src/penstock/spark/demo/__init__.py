"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, what
that missed delivered later, and events that get their rows from a database.

`flights` has the streams, and what all of them do with Spark. `joins`, `archives` and `lookups` are
the demonstrations. They have the same functions: `run_demo` returns a report of plain values, and
`table`, `moral` and `draw` show it.
"""
