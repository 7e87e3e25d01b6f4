"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, what
that missed delivered later, and events that get their rows from a database.
"""

from .archives import (
    ARCHIVE_NAME,
    archive_moral,
    archive_table,
    deliver,
    draw_archive,
    run_archive,
    summarise_archive,
)
from .joins import Demo, run_demo
from .lookups import LookupDemo, compare_lookups, run_lookups
from .picture import NAME, draw
from .show import comparison, moral, summarise, watching
from .show_lookups import lookups_moral, lookups_table, summarise_lookups, telling

__all__ = [
    "ARCHIVE_NAME",
    "NAME",
    "Demo",
    "LookupDemo",
    "archive_moral",
    "archive_table",
    "compare_lookups",
    "comparison",
    "deliver",
    "draw",
    "draw_archive",
    "lookups_moral",
    "lookups_table",
    "moral",
    "run_archive",
    "run_demo",
    "run_lookups",
    "summarise",
    "summarise_archive",
    "summarise_lookups",
    "telling",
    "watching",
]
