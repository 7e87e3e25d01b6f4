"""Bounded aggregates: queries as people write them, their answers, and what to refresh for them.

An answer is an interval that contains the true answer. `refreshes` names the cheapest set of values
to fetch so that it becomes narrow enough.

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
import math
import re
from collections import deque
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..extras import need as need_extra
from ..numeric import Floats, Ints, check_number, to_float
from .rounding import Exact, add_down, down, exact, exact_sum, exact_width, up

KINDS = ("sum", "avg", "max", "min", "count", "quantile")
FORM = re.compile(
    r"\s*(?P<kind>\w+)\s*\(\s*(?P<keys>[^(),<>]+?)\s*(?:(?P<sign>[,>])\s*(?P<at>[^(),<>]+?)\s*)?\)"
    r"\s*within\s+(?P<delta>[^\s%]+)\s*(?P<percent>%)?\s*",
    re.IGNORECASE,
)
WITH_NUMBER = {"count": (">,", "KEYS > LIMIT"), "quantile": (",", "KEYS, SHARE")}  # sign, example
CoverDemand = tuple[float, float, int]  # a, a + δ rounded down, how many straddlers must be fetched
Prices = Floats | None  # what each value costs to fetch; None: all cost the same
Flags = NDArray[np.bool_]
DIFFERING = "a query whose sources differ in cost"


class Query(NamedTuple):
    """An aggregate, and how wide its answer may be.

    >>> Query("sum", delta=5)
    Query(kind='sum', delta=5, relative=False, at=None)
    """

    kind: str
    delta: float  # δ: the answer is an interval at most as wide
    relative: bool = False  # δ is a share of the answer itself
    at: float | None = None  # of a count: values above this; of a quantile: which one, above 0 to 1

    def checked(self) -> "Query":
        """Return the query with its numbers as floats; reject one that is not valid."""
        if self.kind not in KINDS:
            raise BadInput(f"a query must be one of {', '.join(KINDS)}, got {self.kind!r}")
        delta, at = check_number("delta", self.delta, 0), self.at
        if self.kind == "count":  # a float is above the limit exactly if it is above this
            check_number("the limit of a count", self.at)
            at = down(self.at)
        if self.kind == "quantile" and not 0 < check_number("a quantile", self.at, 0) <= 1:
            raise BadInput(f"a quantile must be above 0 and at most 1, got {self.at}")
        if self.kind not in WITH_NUMBER and self.at is not None:
            raise BadInput(
                f"a query for {self.kind} takes no number besides its keys, got {self.at}"
            )
        return self._replace(delta=delta, at=at)

    def allowed(self, low: float, high: float) -> float:
        """Return how wide the answer may be if it lies within these bounds; rounded down.

        >>> Query("avg", 0.1, relative=True).allowed(40, 50)
        4.0
        """
        if not self.relative:
            return self.delta
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return down(Fraction(self.delta) * Fraction(least))

    def position(self, n: int) -> int:
        """Return which smallest of n values a min, max or quantile is.

        >>> Query("quantile", 0, at=0.9).position(10), Query("quantile", 0, at=0.5).position(4)
        (9, 2)
        """
        share = {"min": 0.0, "max": 1.0}.get(self.kind, self.at)
        assert share is not None
        return max(1, math.ceil(share * n - 1e-9))  # the least k of at least share × n

    @property
    def limit(self) -> float:
        """The limit of a count."""
        assert self.at is not None
        return self.at


def parse(text: str) -> tuple[Query, str]:
    """Read a query such as `avg(sensor/+/temp) within 0.5`; return it and its pattern of keys.

    >>> parse("quantile(sensor/#, 0.9) within 2%")
    (Query(kind='quantile', delta=0.02, relative=True, at=0.9), 'sensor/#')
    >>> parse("count(sensor/+/temp > 30) within 0")
    (Query(kind='count', delta=0.0, relative=False, at=30.0), 'sensor/+/temp')
    >>> parse("median(*) within 1")[0].at
    0.5
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise BadInput(
            f"a query must read like 'avg(sensor/+/temp) within 0.5', got {text!r}; known:"
            " sum, avg, max, min, median, count(KEYS > LIMIT), quantile(KEYS, SHARE)"
        )
    kind, at = found["kind"].lower(), found["at"]
    if kind not in (*KINDS, "median"):
        raise BadInput(f"a query must be one of {', '.join(KINDS)}, median, got {kind!r}")
    signs, example = WITH_NUMBER.get(kind, ("", ""))
    if signs and (at is None or found["sign"] not in signs):
        raise BadInput(
            f"a query for {kind} must read like {kind}({example}) within 1, got {text!r}"
        )
    if not signs and at is not None:
        raise BadInput(f"a query for {kind} takes no number besides its keys, got {at}")
    if kind == "median":
        kind, at = "quantile", "0.5"
    delta, relative = _read("delta", found["delta"]), found["percent"] is not None
    number = None if at is None else _read(f"the number in {kind}(...)", at)
    query = Query(kind, delta / 100 if relative else delta, relative, number)
    return query.checked(), found["keys"]


def _read(name: str, text: str) -> float:
    try:
        return check_number(name, float(text))
    except ValueError:  # BadInput is one too
        raise BadInput(f"{name} must be a finite number, got {text!r}") from None


def bounds(query: Query, low: Floats, high: Floats) -> tuple[float, float]:
    """Return the interval that the answer lies in, rounded outward.

    >>> bounds(Query("max", 0), np.array([7.0, 1.0]), np.array([7.0, 6.0]))  # exact, from inexact
    (7.0, 7.0)
    >>> bounds(Query("avg", 0), np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0]))
    (0.6666666666666666, 0.6666666666666667)
    """
    return answer(query, low, high)[:2]


def answer(query: Query, low: Floats, high: Floats) -> tuple[float, float, bool]:
    """Return the interval that the answer lies in, and whether it is narrow enough.

    The exact width is compared with δ. The floats around it may be further apart, each by less than
    the distance to its neighbour.
    """
    least, most = _end(query, low), _end(query, high)
    found = down(least), up(most)
    return *found, exact_width(least, most) <= query.allowed(*found)


def _end(query: Query, values: Floats) -> Exact:
    """Return the exact aggregate of lower bounds or of upper bounds: one end of the answer.

    Every aggregate grows with each value, so the lower bounds give the lower end. The k-th smallest
    value lies between the k-th smallest lower bound and the k-th smallest upper bound.
    """
    if query.kind == "count":
        return exact(float((values > query.limit).sum()))
    if query.kind in ("sum", "avg"):
        return exact_sum(values.tolist()) / (len(values) if query.kind == "avg" else 1)
    k = query.position(len(values))
    return exact(float(np.partition(values, k - 1)[k - 1]))


def refreshes(
    query: Query, low: Floats, high: Floats, costs: Prices = None, last: Flags | None = None
) -> list[int]:
    """Return the cheapest set of values to fetch so that the answer is sure to be narrow enough.

    last: which values are to be fetched only if the others do not suffice; by default none.

    A relative δ becomes an absolute one by the bounds known so far, which is safe. Where these
    contain 0 that is impossible, so the widest value is fetched; then ask again.

    >>> refreshes(Query("sum", 4), np.array([0.0, 0.0]), np.array([5.0, 1.0]))
    [0]
    """
    *found, within = answer(query, low, high)
    if within:
        return []
    delta = query.allowed(*found)
    chosen: list[int] = []
    last = np.zeros(len(low), bool) if last is None else last
    costs = None if costs is None else np.where(last, 1 + costs.sum(), costs)
    if query.relative and delta == 0:
        pass
    elif query.kind == "count":
        chosen = for_count(low, high, query.limit, delta, last if costs is None else costs)
    elif query.kind in ("sum", "avg"):
        n = len(low) if query.kind == "avg" else 1
        chosen = for_sum(low, high, Fraction(delta) * n, costs, last)
    else:
        chosen = for_rank(low, high, query.position(len(low)), delta, costs, last)
    if not chosen:
        wide = widths(low, high)
        chosen = [int(np.argmax(wide))] if wide.max() > 0 else []
    return chosen


def need(query: Query, low: Floats, high: Floats, i: int) -> float:
    """Return how wide the interval of i could have been without being fetched.

    For a sum: if all intervals were narrower in proportion. For a count no such width exists.
    """
    if query.kind == "count":
        return 0.0
    delta = query.allowed(*bounds(query, low, high)) if query.relative else float(query.delta)
    if query.kind not in ("sum", "avg"):
        return delta
    share = delta if query.kind == "avg" else delta / len(low)  # of each, if all are alike
    wide = widths(low, high)
    if np.isinf(wide[i]) or wide[i] == 0:
        return share
    with np.errstate(over="ignore"):
        return float(share / (wide / wide[i]).mean())


def most_telling(query: Query, low: Floats, high: Floats, chosen: list[int]) -> int:
    """Return the value to fetch first if its answer may make the other requests unnecessary."""
    worth = {"max": high, "min": -low}.get(query.kind, widths(low, high))
    return max(chosen, key=lambda i: worth[i])


# ------------------------------------------------------------ the cheapest set


def widths(low: Floats, high: Floats) -> Floats:
    """Return the widths, rounded; infinite where no float can hold them."""
    with np.errstate(over="ignore"):
        return high - low


def for_count(
    low: Floats, high: Floats, limit: float, delta: float, order: Floats | Flags
) -> list[int]:
    """Return the first values, by `order`, that may be on either side of the limit; all but δ.

    >>> low, high = np.array([1.0, 5.0, 5.0]), np.array([7.0, 9.0, 8.0])
    >>> for_count(low, high, limit=6, delta=1, order=np.array([1, 2, 3]))
    [0, 1]
    """
    unsure = np.flatnonzero((low <= limit) & (high > limit))
    unsure = unsure[np.argsort(order[unsure], kind="stable")]
    return [int(i) for i in unsure[: max(len(unsure) - int(delta), 0)]]


def for_sum(low: Floats, high: Floats, delta: Fraction, costs: Prices, last: Flags) -> list[int]:
    """Return the cheapest set whose refresh leaves a total width of δ, the widest first.

    >>> low, high, none = np.zeros(3), np.array([5.0, 1.0, 3.0]), np.zeros(3, bool)
    >>> for_sum(low, high, delta=4, costs=None, last=none)
    [0]
    """

    def fit(kept: Ints) -> bool:
        """Tell whether the widths of some intervals add up to δ at most."""
        ends = exact_sum(low[kept].tolist()), exact_sum(high[kept].tolist())
        return exact_width(*ends) <= delta

    width = widths(low, high)
    others_do = fit(np.flatnonzero(last))  # they suffice
    widest = np.lexsort((-width, last & others_do))
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


def _knapsack(width: Floats, delta: float, costs: Floats) -> set[int]:
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
    optimize = need_extra("scipy.optimize", DIFFERING)
    found = optimize.milp(
        costs[rest],
        constraints=optimize.LinearConstraint(scaled[None, :], lb=excess),
        integrality=np.ones(len(rest)),
        bounds=optimize.Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return chosen | {int(i) for i in rest[found.x > 0.5]}


def for_rank(
    low: Floats, high: Floats, k: int, delta: float, costs: Prices, last: Flags
) -> list[int]:
    """Return the cheapest set after whose refresh the k-th smallest value is known within δ.

    >>> low, high, none = np.array([1.0, 6.0, 7.0]), np.array([9.0, 8.0, 7.0]), np.zeros(3, bool)
    >>> for_rank(low, high, k=3, delta=0, costs=None, last=none)  # both may exceed 7
    [0, 1]
    """
    demands = _demands(low, high, k, delta)
    if costs is None:
        return _furthest_first(low, high, demands, last)
    if not demands:
        return []
    covers = [(low <= point) & (high > beyond) for point, beyond, _ in demands]
    found = need_extra("scipy.optimize", DIFFERING).linprog(
        costs,
        A_ub=-np.array(covers, float),
        b_ub=[-wanted for _, _, wanted in demands],
        bounds=(0, 1),
        method="highs-ds",  # ends in a corner, and all corners are whole numbers
    )
    return [int(i) for i in np.flatnonzero(found.x > 0.5)]


def _demands(low: Floats, high: Floats, k: int, delta: float) -> list[CoverDemand]:
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


def _furthest_first(
    low: Floats, high: Floats, demands: list[CoverDemand], last: Flags
) -> list[int]:
    """Cover the points from left to right, each time with the interval that reaches furthest."""
    waiting = deque(i for i in np.argsort(low, kind="stable").tolist() if not last[i])
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
            if not free or -free[0][0] <= beyond:  # the others do not suffice
                return _furthest_first(low, high, demands, np.zeros(len(low), bool))
            reach, i = heapq.heappop(free)
            chosen.append(i)
            heapq.heappush(covers, -reach)
    return sorted(chosen)
