"""The estimate of recall, with its interval, from sums over a sample of units.

A unit is a watched row (`pairs`), or the sampled keys of a group (`keys`). It was drawn with a
known chance; it has `met` so many results that an unlimited memory would have found, of which the
join has `lost` some. How many results were found in all is known exactly, so only those lost have
to be estimated: their total is the sum of lost / chance. All sums add up over buckets, and over
stretches of time with different budgets and shares. Any other count per unit that adds up can be
estimated in the same way.

The formula is written once, for plain numbers and for columns of Spark: simulations and tests use
it with the first, and a query's progress reports carry what Spark makes of the second.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SUMS = ("drawn", "watched", "certain", "lost", "lost2", "met", "met2", "blind")
FADE = 5.0  # losses after which one that was not seen counts for a third


class Recall(NamedTuple):
    """An estimate with its 95 % interval; the value is None where nothing supports one."""

    value: float | None
    low: float
    high: float


def no_sums() -> dict[str, float]:
    """Return the sums before anything was watched.

    drawn: rows whose chance to be watched was below 1, watched or not; watched: those of them that
    are; certain: results lost by rows that were sure to be watched; lost, met: those of the others,
    each divided by the chance of its unit; lost2, met2: the variances of these two; blind: rows
    that were evicted or rejected while none was watched.
    """
    return dict.fromkeys(SUMS, 0.0)


def weighed(chance: np.ndarray, met: np.ndarray, lost: np.ndarray) -> dict[str, float]:
    """Return what watched units, drawn with these chances, add to the sums."""
    sure = chance >= 1
    p, m, x = chance[~sure], met[~sure], lost[~sure]
    scale = (1 - p) / p**2  # Poisson sampling: the variance of the sum of x / p, as it is estimated
    return {
        "watched": float(len(p)),
        "certain": float(lost[sure].sum()),
        "lost": float((x / p).sum()),
        "lost2": float((scale * x * x).sum()),
        "met": float((m / p).sum()),
        "met2": float((scale * m * m).sum()),
    }


def weighed_groups(
    share: float, met: np.ndarray, lost: np.ndarray, taken: int, watched: int
) -> dict[str, float]:
    """Return what a share of the keys, put into groups by chance, adds to the sums."""
    if share >= 1:
        return {"certain": float(lost.sum())}

    def variance(sums: np.ndarray) -> float:
        return float((1 - share) / share**2 * len(sums) * np.var(sums, ddof=1))

    return {
        "drawn": float(taken),
        "watched": float(watched),
        "lost": float(lost.sum() / share),
        "lost2": variance(lost),
        "met": float(met.sum() / share),
        "met2": variance(met),
    }


def add(sums: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    """Return sums with some more added to them."""
    return {name: value + more.get(name, 0.0) for name, value in sums.items()}


class Counts(NamedTuple):
    """What an estimate is made of: numbers, or columns of them."""

    found: Any  # results
    drawn: Any
    watched: Any
    certain: Any
    lost: Any
    lost2: Any
    met: Any
    met2: Any
    blind: Any
    gone: Any  # rows evicted or rejected


class FloatMath:
    """Arithmetic on plain numbers. `spark.figures.ColumnMath` is the same for columns of Spark."""

    exp, sqrt = math.exp, math.sqrt

    @staticmethod
    def where(test: bool, then: Any, otherwise: Any) -> Any:
        return then if test else otherwise

    @staticmethod
    def ratio(above: float, below: float) -> float:
        return above / below if below else math.nan

    @staticmethod
    def bind(work: Callable[..., Any], *values: float) -> Any:
        """Return what is worked out of values; columns must be named to be used more than once."""
        return work(*values)


def estimate(sums: dict[str, float], matches: float, gone: float) -> Recall:
    """Return the recall, given the results found and the rows evicted or rejected."""
    counts = Counts._make([matches, *(sums[name] for name in SUMS), gone])
    return Recall(*(part(FloatMath, counts) for part in (value, low, high)))


# Each in numbers of any kind: `maths` calculates with them. Where no row was evicted or rejected,
# nothing was lost.


def value(maths: Any, each: Counts) -> Any:
    """Return the recall; None where nothing supports an estimate."""
    lost = each.certain + each.lost
    seen = (each.drawn <= 0.0) | (each.met > 0.0) | (lost > 0.0)
    known = (each.blind <= 0.0) & seen & (each.found + lost > 0.0)
    recall = maths.where(known, _recall(maths, each, lost), None)
    return maths.where(each.gone <= 0.0, 1.0, recall)


def low(maths: Any, each: Counts) -> Any:
    """Return the lower end of its interval.

    It is 0 where rows were evicted or rejected while none was watched: what they lost is not known.
    """
    lost = maths.where(each.watched > 0.0, _most_lost(maths, each), math.inf)
    lost = each.certain + maths.where(each.drawn > 0.0, lost, 0.0)
    recall = maths.where(each.blind > 0.0, 0.0, _recall(maths, each, lost))
    return maths.where(each.gone <= 0.0, 1.0, recall)


def high(maths: Any, each: Counts) -> Any:
    """Return the upper end of its interval."""
    # The two ends multiply to the square of what was found: no need to subtract near equals.
    fewest = maths.ratio(each.lost * each.lost, _most_lost(maths, each))
    seen = (each.drawn > 0.0) & (each.watched > 0.0) & (each.lost > 0.0)
    lost = each.certain + maths.where(seen, fewest, 0.0)
    return maths.where(each.gone <= 0.0, 1.0, _recall(maths, each, lost))


def _recall(maths: Any, each: Counts, lost: Any) -> Any:
    def recall(both: Any) -> Any:
        return maths.where(both > 0.0, maths.ratio(each.found, both), 1.0)

    return maths.bind(recall, each.found + lost)


def _most_lost(maths: Any, each: Counts) -> Any:
    """Return the upper end of the interval of what drawn units have lost.

    A total x that is expected varies by sqrt(c x), where c is the size of one loss, weighed, in
    the sample: the interval holds every x that lies within t of these from the total found. So it
    is wider upward, and reaches up from 0 where no loss was seen. A loss that was not seen may be
    larger than those that were: while these are few, one as large as all that a watched row met is
    counted among them.
    """
    # One result of one row, weighed.
    per_met, per_row = maths.ratio(each.met2, each.met), maths.ratio(each.drawn, each.watched)
    whole = maths.where(each.met > 0.0, per_met, per_row)
    # Of equal size, so many losses would vary as much.
    losses = maths.where(each.lost2 > 0.0, maths.ratio(each.lost * each.lost, each.lost2), 0.0)

    def by_losses(whole: Any, losses: Any) -> Any:
        student = _student(maths, maths.ratio(1.0, losses + 1.0))
        size = maths.bind(by_unseen, whole, whole * maths.exp(-losses / FADE))
        return maths.bind(most, student * maths.sqrt(maths.where(whole > 0.0, size, 0.0)) * 0.5)

    def by_unseen(whole: Any, unseen: Any) -> Any:
        return maths.ratio(each.lost2 + unseen * whole, each.lost + unseen)

    def most(reach: Any) -> Any:
        return (maths.sqrt(each.lost + reach * reach) + reach) ** 2.0

    return maths.bind(by_losses, whole, losses)


def _student(maths: Any, one: Any) -> Any:
    """Return the 97.5 % point of Student's t at 1 / `one` degrees of freedom.

    By the Cornish-Fisher expansion, which is 1 % off at 3 degrees.
    """
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return maths.bind(lambda one: z + one * (first + one * (second + one * third)), one)
