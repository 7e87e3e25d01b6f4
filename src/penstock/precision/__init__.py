"""Bounded answers from cached intervals: adaptive precision.

A `Source` holds a value that changes, a `Cache` intervals of many values. A query says how wide its
answer may be. Wide intervals save messages from sources and cost refreshes by queries, narrow ones
the reverse; a width rule (`rules`) balances both. `docs/precision.md` is the guide.

- `interval_source`: intervals, the messages that carry them, and the source that sends them.
- `interval_cache`: the cache, and queries that are being answered.
- `queries`: queries as text, their answers, and the cheapest values to fetch for them.
- `rule`: the contract of a width rule; `rules`: the rules, `published` ones and our `settling`.
- `simulator`, `simulator_kernel`: the rules on random walks and recordings, compiled.
- `thinning`: many sources at once, compiled, for Spark.
- `rounding`: numbers from outside, checked, and bounds rounded outward.
- `wire`: sources and caches that communicate through MQTT.
"""

from .interval_cache import Answer, Asking, Cache
from .interval_source import Interval, Refresh, Source
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
