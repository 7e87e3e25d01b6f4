"""The cheapest set of values to refresh for a sum, a count, or a rank (min, max, quantile).

*Sums.* The width of a sum is the sum of the widths, whatever the values are. So the question is
which widths to keep: those that fit into δ and save the most. That is a knapsack; with equal costs
its solution keeps the narrowest. Sums are exact: nothing is rounded on the way. Source: Olston,
Widom, "Offering a precision-performance tradeoff for aggregation queries over replicated data"
(2000), which approximates the knapsack where costs differ. Here an integer program solves it.

*Ranks.* After some values were fetched the width of the k-th smallest may still exceed δ if, for
some a, at least k values can be at most a, and at least n - k + 1 can be above a + δ. An interval
that reaches from a to beyond a + δ, a *straddler*, counts on both sides as long as it is not
fetched, and one that lies between them on neither. So a is safe if no more straddlers stay than
intervals lie between. The choice is then a covering problem: each straddler covers the points a
from its lower bound to δ below its upper bound, and each point demands some number of covers. Only
lower bounds need be considered as a. With equal costs it is optimal to go from left to right and
take the interval that reaches furthest; with other costs a linear program is exact, because
intervals on a line make it totally unimodular. For MAX this fetches the values that may exceed the
largest lower bound by more than δ, and only those, as in Olston, Widom (2000). For medians see
Feder, Motwani, Panigrahy, Olston, Widom, "Computing the median with uncertainty" (2000).
"""

import heapq
from collections import deque
from fractions import Fraction

import numpy as np

from ..extras import need
from .rounding import add_down, exact_sum, exact_width, to_float

Demand = tuple[float, float, int]  # a, a + δ rounded down, how many straddlers must be fetched
DIFFERING = "a query whose sources differ in cost"


def widths(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the widths, rounded; infinite where no float can hold them."""
    with np.errstate(over="ignore"):
        return high - low


def for_count(
    low: np.ndarray, high: np.ndarray, limit: float, delta: float, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest values that may be on either side of the limit, all but δ of them.

    >>> for_count(np.array([1.0, 5.0, 5.0]), np.array([7.0, 9.0, 8.0]), limit=6, delta=1)
    [0, 1]
    """
    unsure = np.flatnonzero((low <= limit) & (high > limit))
    if costs is not None:
        unsure = unsure[np.argsort(costs[unsure], kind="stable")]
    return [int(i) for i in unsure[: max(len(unsure) - int(delta), 0)]]


def for_sum(
    low: np.ndarray, high: np.ndarray, delta: float | Fraction, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set whose refresh leaves a total width of δ, the widest first.

    >>> for_sum(np.array([0.0, 0.0, 0.0]), np.array([5.0, 1.0, 3.0]), delta=4)
    [0]
    """

    def fit(kept: np.ndarray) -> bool:
        """Tell whether the widths of some intervals add up to δ at most."""
        ends = exact_sum(low[kept].tolist()), exact_sum(high[kept].tolist())
        return exact_width(*ends) <= delta

    width = widths(low, high)
    widest = np.argsort(-width, kind="stable")
    if costs is None:
        with np.errstate(over="ignore"):
            sums = np.cumsum(width[widest[::-1]])
        # These sums are rounded, so this number may be wrong by one or two.
        kept = int(np.searchsorted(sums, to_float(delta), side="right"))
        while kept and not fit(widest[-kept:]):
            kept -= 1
        while kept < len(widest) and fit(widest[-kept - 1 :]):
            kept += 1
        return [int(i) for i in widest[: len(widest) - kept]]
    chosen = _knapsack(width, to_float(delta), costs)
    for i in widest.tolist():  # the solver works with a tolerance, which is corrected here
        if fit(np.array([j for j in widest.tolist() if j not in chosen], np.int64)):
            break
        chosen.add(i)
    return [i for i in widest.tolist() if i in chosen]


def _knapsack(width: np.ndarray, delta: float, costs: np.ndarray) -> set[int]:
    """Return which values to refresh so that the remaining widths fit into δ, at the least cost."""
    must = np.isinf(width)
    rest = np.flatnonzero(~must & (width > 0))
    chosen = {int(i) for i in np.flatnonzero(must)}
    if not len(rest):
        return chosen
    scale = width[rest].max()
    with np.errstate(over="ignore"):
        scaled = width[rest] / scale
        excess = scaled.sum() - delta / scale
    if excess <= 0:
        return chosen
    optimize = need("scipy.optimize", DIFFERING)
    found = optimize.milp(
        costs[rest],
        constraints=optimize.LinearConstraint(scaled[None, :], lb=excess),
        integrality=np.ones(len(rest)),
        bounds=optimize.Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return chosen | {int(i) for i in rest[found.x > 0.5]}


def for_rank(
    low: np.ndarray, high: np.ndarray, k: int, delta: float, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set after whose refresh the k-th smallest value is known within δ.

    >>> low, high = np.array([1.0, 6.0, 7.0]), np.array([9.0, 8.0, 7.0])
    >>> for_rank(low, high, k=3, delta=0)  # the maximum: both may exceed 7
    [0, 1]
    """
    demands = _demands(low, high, k, delta)
    if costs is None:
        return _furthest_first(low, high, demands)
    if not demands:
        return []
    covers = [(low <= point) & (high > beyond) for point, beyond, _ in demands]
    found = need("scipy.optimize", DIFFERING).linprog(
        costs,
        A_ub=-np.array(covers, float),
        b_ub=[-wanted for _, _, wanted in demands],
        bounds=(0, 1),
        method="highs-ds",  # ends in a corner, and all corners are whole numbers
    )
    return [int(i) for i in np.flatnonzero(found.x > 0.5)]


def _demands(low: np.ndarray, high: np.ndarray, k: int, delta: float) -> list[Demand]:
    """Return the points a, in order, with their demands.

    The straddlers less the intervals between are the values that can be low less those that cannot
    be high.
    """
    points = np.unique(low)
    beyond = add_down(points, delta)  # a float is above a + δ exactly if it is above this
    can_be_low = np.searchsorted(np.sort(low), points, side="right")
    cannot_be_high = np.searchsorted(np.sort(high), beyond, side="right")
    demand = can_be_low - cannot_be_high
    wide = (can_be_low >= k) & (cannot_be_high <= k - 1) & (demand > 0)
    return [(float(points[i]), float(beyond[i]), int(demand[i])) for i in np.flatnonzero(wide)]


def _furthest_first(low: np.ndarray, high: np.ndarray, demands: list[Demand]) -> list[int]:
    """Cover the points from left to right, each time with the interval that reaches furthest."""
    waiting = deque(np.argsort(low, kind="stable").tolist())
    free: list[tuple[float, int]] = []  # begun, not chosen: a heap, the furthest reach first
    covers: list[float] = []  # chosen: a heap of their reaches, the nearest first
    chosen: list[int] = []
    for point, beyond, demand in demands:
        while waiting and low[waiting[0]] <= point:
            i = waiting.popleft()
            heapq.heappush(free, (-high[i], i))
        while covers and covers[0] <= beyond:
            heapq.heappop(covers)
        for _ in range(demand - len(covers)):
            reach, i = heapq.heappop(free)
            chosen.append(i)
            heapq.heappush(covers, -reach)
    return sorted(chosen)
