"""What an unlimited memory would give: the results that recall is measured against.

Counted by bisection and not by an unlimited join, which would visit every result.
"""

import functools

import numpy as np

from ..offline import exact_results, first_matches
from ..workloads import JoinTrace
from .arrivals import arrivals
from .source import Trace


@functools.lru_cache(maxsize=2)
def full_results(trace: Trace, within: int | None, first: int) -> int:
    """Return the join results at the rows from `first` on, or the hits of a boundless cache."""
    if isinstance(trace, JoinTrace):
        return int(results_at(trace, within)[:, first:].sum())
    first_seen = np.unique(trace.key, return_index=True)[1]
    return len(trace) - first - int((first_seen >= first).sum())


@functools.lru_cache(maxsize=2)
def full_matched(trace: JoinTrace, within: int | None, first: int) -> int:
    """Return how many rows are in a result for the first time at the rows from `first` on."""
    rows = arrivals(trace, within)
    at = first_matches(*rows, joins=trace.joins, together=trace.together)
    return int(((at >= first) & (at < len(trace))).sum())


@functools.lru_cache(maxsize=1)
def results_at(trace: JoinTrace, within: int | None) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes."""
    rows = arrivals(trace, within)
    return exact_results(*rows, joins=trace.joins, together=trace.together)
