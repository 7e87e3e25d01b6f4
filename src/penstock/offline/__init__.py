"""The best that hindsight allows, for joins and caches; and planning by the same means."""

from .exact import exact_results, first_matches
from .flowexpect import FLOWEXPECT, FlowExpect
from .join import most_results
from .lookup import lfd
from .plan import Plan, best_plan
from .reach import Reach, find_reach
from .rows import most_rows

__all__ = [
    "FLOWEXPECT",
    "FlowExpect",
    "Plan",
    "Reach",
    "best_plan",
    "exact_results",
    "find_reach",
    "first_matches",
    "lfd",
    "most_results",
    "most_rows",
]
