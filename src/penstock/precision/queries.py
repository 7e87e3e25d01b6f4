"""Bounded aggregates: queries as people write them, their answers, and what to refresh for them.

An answer is an interval that contains the true answer. `refreshes` names the values to fetch so
that it becomes narrow enough; `cheapest.py` finds the cheapest such set for each kind of query.
"""

import math
import re
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from . import cheapest
from .rounding import Exact, check_number, down, exact, exact_sum, exact_width, up

KINDS = ("sum", "avg", "max", "min", "count", "quantile")
FORM = re.compile(
    r"\s*(?P<kind>\w+)\s*\(\s*(?P<keys>[^(),<>]+?)\s*(?:(?P<sign>[,>])\s*(?P<at>[^(),<>]+?)\s*)?\)"
    r"\s*within\s+(?P<delta>[^\s%]+)\s*(?P<percent>%)?\s*",
    re.IGNORECASE,
)
WITH_NUMBER = {"count": (">,", "KEYS > LIMIT"), "quantile": (",", "KEYS, SHARE")}  # sign, example


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

    The exact width is compared with δ. The floats around it may be further apart, each by less than
    the distance to its neighbour.
    """
    least, most = _end(query, low), _end(query, high)
    found = down(least), up(most)
    return *found, exact_width(least, most) <= query.allowed(*found)


def _end(query: Query, values: np.ndarray) -> Exact:
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
    query: Query, low: np.ndarray, high: np.ndarray, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set of values to fetch so that the answer is sure to be narrow enough.

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
    if query.relative and delta == 0:
        pass
    elif query.kind == "count":
        chosen = cheapest.for_count(low, high, query.limit, delta, costs)
    elif query.kind in ("sum", "avg"):
        n = len(low) if query.kind == "avg" else 1
        chosen = cheapest.for_sum(low, high, Fraction(delta) * n, costs)
    else:
        chosen = cheapest.for_rank(low, high, query.position(len(low)), delta, costs)
    if not chosen:
        wide = cheapest.widths(low, high)
        chosen = [int(np.argmax(wide))] if wide.max() > 0 else []
    return chosen


def need(query: Query, low: np.ndarray, high: np.ndarray, i: int) -> float:
    """Return how wide the interval of i could have been without being fetched.

    For a sum: if all intervals were narrower in proportion. For a count no such width exists.
    """
    if query.kind == "count":
        return 0.0
    delta = query.allowed(*bounds(query, low, high)) if query.relative else float(query.delta)
    if query.kind not in ("sum", "avg"):
        return delta
    share = delta if query.kind == "avg" else delta / len(low)  # of each, if all are alike
    wide = cheapest.widths(low, high)
    if np.isinf(wide[i]) or wide[i] == 0:
        return share
    with np.errstate(over="ignore"):
        return float(share / (wide / wide[i]).mean())


def most_telling(query: Query, low: np.ndarray, high: np.ndarray, chosen: list[int]) -> int:
    """Return the value to fetch first if its answer may make the other requests unnecessary."""
    worth = {"max": high, "min": -low}.get(query.kind, cheapest.widths(low, high))
    return max(chosen, key=lambda i: worth[i])
