"""MIN, MAX and quantiles, all of them the k-th smallest value: bounds, and what to refresh.

The k-th smallest lies between the k-th smallest lower bound and the k-th smallest upper bound.
After some values were fetched its width may still exceed δ if, for some a, at least k values can be
at most a, and at least n - k + 1 can be above a + δ. An interval that reaches from a to beyond
a + δ counts on both sides as long as it is not fetched, and one that lies between them on neither.
So it is safe at a if no more such *straddlers* stay than intervals lie between. Which to fetch is
then a matter of covering: each straddler covers the points a from its lower bound to δ below its
upper one, and each point wants some number of covers. Only lower bounds need be looked at as a.
With equal costs it is best to go from left to right and take whoever reaches furthest; with others
a linear program is exact, because intervals on a line make it totally unimodular.

For MAX this fetches whoever exceeds the largest lower bound by more than δ, and only those, as in
Olston, Widom (2000). For medians see Feder, Motwani, Panigrahy, Olston, Widom, "Computing the
median with uncertainty" (2000).
"""

import heapq
import math
from collections import deque

import numpy as np

from ...extras import need
from ..rounding import add_down

Demand = tuple[float, float, int]  # a point a, a + δ rounded down, and how many to fetch there


def place(share: float, n: int) -> int:
    """Return which smallest value the quantile is: the least k of at least share × n.

    >>> place(0.5, 4), place(0.9, 10), place(1.0, 3)
    (2, 9, 3)
    """
    return max(1, math.ceil(share * n - 1e-9))


def bounds(low: np.ndarray, high: np.ndarray, k: int) -> tuple[float, float]:
    """Return the bounds of the k-th smallest value.

    >>> bounds(np.array([1.0, 4.0, 2.0]), np.array([9.0, 5.0, 3.0]), k=2)
    (2.0, 5.0)
    """
    return float(np.partition(low, k - 1)[k - 1]), float(np.partition(high, k - 1)[k - 1])


def refreshes(
    low: np.ndarray, high: np.ndarray, k: int, delta: float, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set after whose refresh the answer is at most δ wide.

    >>> low, high = np.array([1.0, 6.0, 7.0]), np.array([9.0, 8.0, 7.0])
    >>> refreshes(low, high, k=3, delta=0)  # the maximum: both may exceed 7
    [0, 1]
    """
    wanted = _demands(low, high, k, delta)
    if costs is None:
        return _furthest_first(low, high, wanted)
    return _cheapest(low, high, wanted, costs)


def _demands(low: np.ndarray, high: np.ndarray, k: int, delta: float) -> list[Demand]:
    """Return the points a, in order, and how many of their straddlers must be fetched.

    Straddlers less those between are those that can be low less those that cannot be high.
    """
    points = np.unique(low)
    beyond = add_down(points, delta)  # a float is above a + δ just where it is above this
    can_be_low = np.searchsorted(np.sort(low), points, side="right")
    cannot_be_high = np.searchsorted(np.sort(high), beyond, side="right")
    demand = can_be_low - cannot_be_high
    wide = (can_be_low >= k) & (cannot_be_high <= k - 1) & (demand > 0)
    return [(float(points[i]), float(beyond[i]), int(demand[i])) for i in np.flatnonzero(wide)]


def _furthest_first(low: np.ndarray, high: np.ndarray, wanted: list[Demand]) -> list[int]:
    """Cover the points from left to right, each time by whoever reaches furthest."""
    waiting = deque(np.argsort(low, kind="stable").tolist())
    free: list[tuple[float, int]] = []  # begun, not chosen: a heap, whoever reaches furthest first
    covers: list[float] = []  # chosen: a heap of how far they reach, the nearest first
    chosen: list[int] = []
    for a, beyond, demand in wanted:
        while waiting and low[waiting[0]] <= a:
            i = waiting.popleft()
            heapq.heappush(free, (-high[i], i))
        while covers and covers[0] <= beyond:
            heapq.heappop(covers)
        for _ in range(demand - len(covers)):
            reach, i = heapq.heappop(free)
            chosen.append(i)
            heapq.heappush(covers, -reach)
    return sorted(chosen)


def _cheapest(
    low: np.ndarray, high: np.ndarray, wanted: list[Demand], costs: np.ndarray
) -> list[int]:
    """Cover the points at the least cost."""
    if not wanted:
        return []
    optimize = need("scipy.optimize", "a query whose sources differ in cost")
    covers = [(low <= a) & (high > beyond) for a, beyond, _ in wanted]
    found = optimize.linprog(
        costs,
        A_ub=-np.array(covers, float),
        b_ub=[-demand for _, _, demand in wanted],
        bounds=(0, 1),
        method="highs-ds",  # ends in a corner, and the corners are whole numbers
    )
    return [int(i) for i in np.flatnonzero(found.x > 0.5)]
