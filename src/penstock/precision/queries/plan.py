"""From a query and intervals to an answer, and to what must be refreshed for it."""

import numpy as np

from . import counts, ranks, sums
from .query import Query


def bounds(query: Query, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the interval that the answer lies in.

    >>> bounds(Query("max", 0), np.array([7.0, 1.0]), np.array([7.0, 6.0]))  # exact, from inexact
    (7.0, 7.0)
    """
    if query.kind == "count":
        return counts.bounds(low, high, _at(query))
    if query.kind in ("sum", "avg"):
        least, most = sums.bounds(low, high)
        n = len(low) if query.kind == "avg" else 1
        return least / n, most / n
    return ranks.bounds(low, high, _place(query, len(low)))


def refreshes(
    query: Query, low: np.ndarray, high: np.ndarray, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set of values to fetch so that the answer is sure to be narrow enough.

    A relative δ is turned into an absolute one by the bounds known so far, which is safe. Where
    these contain 0 there is nothing to turn it by, so the widest is fetched, and then one looks
    again.

    >>> refreshes(Query("sum", 4), np.array([0.0, 0.0]), np.array([5.0, 1.0]))
    [0]
    """
    found = bounds(query, low, high)
    delta = query.allowed(*found)
    if found[1] - found[0] <= delta:
        return []
    if query.relative and delta == 0:
        return _widest(low, high)
    if query.kind == "count":
        chosen = counts.refreshes(low, high, _at(query), delta, costs)
    elif query.kind in ("sum", "avg"):
        n = len(low) if query.kind == "avg" else 1
        chosen = sums.refreshes(low, high, delta * n, costs)
    else:
        chosen = ranks.refreshes(low, high, _place(query, len(low)), delta, costs)
    return chosen or _widest(low, high)  # nothing chosen: only rounding stands between


def need(query: Query, low: np.ndarray, high: np.ndarray, i: int) -> float:
    """Return how wide the interval of i might have been, so that it need not be fetched.

    Of a sum: if all were narrower in proportion. Of a count there is no such width.
    """
    found = bounds(query, low, high)
    delta = query.allowed(*found)
    if query.kind == "count":
        return 0.0
    if query.kind not in ("sum", "avg"):
        return delta
    n = len(low)
    delta = delta * n if query.kind == "avg" else delta
    width = high - low
    total = float(width.sum())
    return delta / n if np.isinf(width[i]) else float(width[i]) * delta / total


def most_telling(query: Query, low: np.ndarray, high: np.ndarray, chosen: list[int]) -> int:
    """Return whom to fetch first if the others may then be spared: who may be the largest, ..."""
    if query.kind == "max":
        return max(chosen, key=lambda i: high[i])
    if query.kind == "min":
        return min(chosen, key=lambda i: low[i])
    return max(chosen, key=lambda i: high[i] - low[i])


def _widest(low: np.ndarray, high: np.ndarray) -> list[int]:
    width = high - low
    return [int(np.argmax(width))] if width.max() > 0 else []


def _place(query: Query, n: int) -> int:
    share = {"min": 0.0, "max": 1.0}.get(query.kind, query.at)
    assert share is not None
    return ranks.place(share, n)


def _at(query: Query) -> float:
    assert query.at is not None
    return query.at
