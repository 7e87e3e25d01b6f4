"""What an unlimited memory would give: the results that recall is measured against.

Counted by bisection and not by an unlimited join, which would visit every pair: a skewed trace
without a window has more of them than anybody can wait for.
"""

import functools

import numpy as np

from ..offline import count_matches, find_reach
from ..workloads import JoinTrace
from .arrivals import arrivals
from .source import Trace


@functools.lru_cache(maxsize=2)
def full_results(trace: Trace, within: int | None, first: int) -> int:
    """Return the join results at the rows from `first` on, or the hits of a boundless cache."""
    if isinstance(trace, JoinTrace):
        rows = arrivals(trace, within)
        return count_matches(find_reach(*rows, together=trace.together), first)
    first_seen = np.unique(trace.key, return_index=True)[1]
    return len(trace) - first - int((first_seen >= first).sum())
