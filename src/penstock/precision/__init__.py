"""Bounded answers from cached intervals: adaptive precision.

A `Source` holds a value that changes, a `Cache` intervals of many values. A query says how wide its
answer may be. Wide intervals save messages from sources and cost refreshes by queries, narrow ones
the reverse; a width rule (`rules`) balances both. `docs/precision.md` is the guide.

Also here: the compiled `simulator` of the rules, `thinning` for many keys at once (on Spark),
`wire` for sources and caches that communicate through MQTT, and a demonstration on weather data.
"""

from .interval import Interval, Refresh
from .interval_cache import Answer, Asking, Cache
from .interval_source import Source
from .queries import Query, parse
from .rule import Costs, make_costs
from .simulator import Recorded, Simulated, Workload, best_fixed, replay, simulate

__all__ = [
    "Answer",
    "Asking",
    "Cache",
    "Costs",
    "Interval",
    "Query",
    "Recorded",
    "Refresh",
    "Simulated",
    "Source",
    "Workload",
    "best_fixed",
    "make_costs",
    "parse",
    "replay",
    "simulate",
]
