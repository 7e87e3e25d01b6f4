"""From a query and intervals to an answer, and to what must be refreshed for it."""

from fractions import Fraction

import numpy as np

from ..rounding import Exact, down, exact, up, width
from . import counts, ranks, sums
from .query import Query


def bounds(query: Query, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the interval that the answer lies in, rounded outward.

    >>> bounds(Query("max", 0), np.array([7.0, 1.0]), np.array([7.0, 6.0]))  # exact, from inexact
    (7.0, 7.0)
    >>> bounds(Query("avg", 0), np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    (0.6666666666666666, 0.6666666666666667)
    """
    return answer(query, low, high)[:2]


def answer(query: Query, low: np.ndarray, high: np.ndarray) -> tuple[float, float, bool]:
    """Return the interval that the answer lies in, and whether it is narrow enough.

    What is compared with δ is the exact width. The floats around it may be further apart, each by
    less than the distance to its neighbour.
    """
    least, most = _ends(query, low, high)
    found = down(least), up(most)
    return *found, width(least, most) <= query.allowed(*found)


def _ends(query: Query, low: np.ndarray, high: np.ndarray) -> tuple[Exact, Exact]:
    """Return the ends of the answer, exactly."""
    if query.kind == "count":
        least, most = counts.bounds(low, high, _at(query))
        return exact(least), exact(most)
    if query.kind in ("sum", "avg"):
        n = len(low) if query.kind == "avg" else 1
        first, last = sums.ends(low, high)
        return first / n, last / n
    least, most = ranks.bounds(low, high, _place(query, len(low)))
    return exact(least), exact(most)


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
    *found, within = answer(query, low, high)
    if within:
        return []
    delta = query.allowed(*found)
    if query.relative and delta == 0:
        return _widest(low, high)
    if query.kind == "count":
        chosen = counts.refreshes(low, high, _at(query), delta, costs)
    elif query.kind in ("sum", "avg"):
        n = len(low) if query.kind == "avg" else 1
        chosen = sums.refreshes(low, high, Fraction(delta) * n, costs)
    else:
        chosen = ranks.refreshes(low, high, _place(query, len(low)), delta, costs)
    return chosen or _widest(low, high)


def need(query: Query, low: np.ndarray, high: np.ndarray, i: int) -> float:
    """Return how wide the interval of i might have been, so that it need not be fetched.

    Of a sum: if all were narrower in proportion. Of a count there is no such width.
    """
    if query.kind == "count":
        return 0.0
    delta = query.allowed(*bounds(query, low, high)) if query.relative else float(query.delta)
    if query.kind not in ("sum", "avg"):
        return delta
    n = len(low)
    share = delta if query.kind == "avg" else delta / n  # of each, if all are alike
    wide = sums.widths(low, high)
    if np.isinf(wide[i]) or wide[i] == 0:
        return share
    with np.errstate(over="ignore"):
        return float(share / (wide / wide[i]).mean())


def most_telling(query: Query, low: np.ndarray, high: np.ndarray, chosen: list[int]) -> int:
    """Return whom to fetch first if the others may then be spared: who may be the largest, ..."""
    if query.kind == "max":
        return max(chosen, key=lambda i: high[i])
    if query.kind == "min":
        return min(chosen, key=lambda i: low[i])
    wide = sums.widths(low, high)
    return max(chosen, key=lambda i: wide[i])


def _widest(low: np.ndarray, high: np.ndarray) -> list[int]:
    wide = sums.widths(low, high)
    return [int(np.argmax(wide))] if wide.max() > 0 else []


def _place(query: Query, n: int) -> int:
    share = {"min": 0.0, "max": 1.0}.get(query.kind, query.at)
    assert share is not None
    return ranks.place(share, n)


def _at(query: Query) -> float:
    assert query.at is not None
    return query.at
