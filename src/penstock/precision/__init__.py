"""Bounded answers from cached intervals: adaptive precision.

A `Source` holds a value that changes, a `Cache` intervals of many values. A query says how wide its
answer may be. Wide intervals save messages from sources and cost refreshes by queries, narrow ones
the reverse; a width rule (`rules`) finds the balance. `docs/precision.md` is the guide.
"""

from .asking import Answer, Asking
from .cache import Cache
from .costs import Costs, make_costs
from .interval import Interval
from .message import Refresh
from .queries import Query, parse
from .simulator import Outcome, Recorded, Workload, best_fixed, replay, simulate
from .source import Source

__all__ = [
    "Answer",
    "Asking",
    "Cache",
    "Costs",
    "Interval",
    "Outcome",
    "Query",
    "Recorded",
    "Refresh",
    "Source",
    "Workload",
    "best_fixed",
    "make_costs",
    "parse",
    "replay",
    "simulate",
]
