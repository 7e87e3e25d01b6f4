"""Demonstrations: two real streams joined live on Spark in a tenth of the memory they need, and
events that get their rows from a database.
"""

from .joins import Demo, run_demo
from .lookups import LookupDemo, compare_lookups, run_lookups
from .picture import NAME, draw
from .show import comparison, moral, summarise, watching
from .show_lookups import lookups_moral, lookups_table, summarise_lookups, telling

__all__ = [
    "NAME",
    "Demo",
    "LookupDemo",
    "compare_lookups",
    "comparison",
    "draw",
    "lookups_moral",
    "lookups_table",
    "moral",
    "run_demo",
    "run_lookups",
    "summarise",
    "summarise_lookups",
    "telling",
    "watching",
]
