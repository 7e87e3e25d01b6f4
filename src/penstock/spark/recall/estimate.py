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
from collections.abc import Callable, Sequence
from functools import partial
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


class Floats:
    """Arithmetic on plain numbers. `spark.figures.Columns` is the same for columns of Spark."""

    none = None
    record = Recall
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
    return estimate_by(Floats, [sums[name] for name in SUMS], matches, gone)


def estimate_by(maths: Any, sums: Sequence[Any], matches: Any, gone: Any) -> Any:
    """Return the recall in numbers of any kind: `maths` calculates with them.

    Where no row was evicted or rejected, nothing was lost. Where rows were while none was watched
    (`blind`), what they lost is not known: the upper end of the interval still holds, and the lower
    one is 0.
    """
    drawn, watched, certain, lost, _, met, _, blind = sums

    def found(most: Any) -> Any:
        return maths.where(matches + most > 0, maths.ratio(matches, matches + most), 1.0)

    def finished(middle: Any, reach: Any) -> Any:
        # The same as middle - reach, where nearly equal numbers are not subtracted.
        fewest = maths.ratio(lost * lost, middle + reach)
        fewest = certain + maths.where((drawn > 0) & (watched > 0) & (lost > 0), fewest, 0.0)
        most = maths.where(watched > 0, middle + reach, math.inf)
        most = certain + maths.where(drawn > 0, most, 0.0)
        all_lost = certain + lost
        seen = (drawn <= 0) | (met > 0) | (all_lost > 0)
        known = (blind <= 0) & seen & (matches + all_lost > 0)
        return maths.record(
            maths.where(gone <= 0, 1.0, maths.where(known, found(all_lost), maths.none)),
            maths.where(gone <= 0, 1.0, maths.where(blind > 0, 0.0, found(most))),
            maths.where(gone <= 0, 1.0, found(fewest)),
        )

    return _with_interval(maths, sums, finished)


def _with_interval(maths: Any, sums: Sequence[Any], finished: Callable[[Any, Any], Any]) -> Any:
    """Finish with the middle and the reach of the interval of what drawn units have lost.

    A total x that is expected varies by sqrt(c x), where c is the size of one loss, weighed, in
    the sample: the interval holds every x that lies within t of these from the total found. So it
    is wider upward, and reaches up from 0 where no loss was seen. A loss that was not seen may be
    larger than those that were: while these are few, one as large as all that a watched row met is
    counted among them.
    """
    drawn, watched, _, lost, spread, met, met2, _ = sums
    # One result of one row, weighed.
    whole = maths.where(met > 0, maths.ratio(met2, met), maths.ratio(drawn, watched))
    # Of equal size, so many losses would vary as much.
    losses = maths.where(spread > 0, maths.ratio(lost * lost, spread), 0.0)

    def by_losses(whole: Any, losses: Any) -> Any:
        return maths.bind(partial(by_unseen, whole, losses), maths.exp(-losses / FADE))

    def by_unseen(whole: Any, losses: Any, unseen: Any) -> Any:
        size = maths.ratio(spread + unseen * whole * whole, lost + unseen * whole)
        size = maths.where(whole > 0, size, 0.0)
        student = _student(maths.ratio(1.0, losses + 1))
        return maths.bind(by_middle, lost + student**2 * size / 2)

    def by_middle(middle: Any) -> Any:
        reach = maths.sqrt((middle - lost) * (middle + lost))
        return maths.bind(finished, middle, reach)

    return maths.bind(by_losses, whole, losses)


def _student(one: Any) -> Any:
    """Return the 97.5 % point of Student's t at 1 / `one` degrees of freedom.

    By the Cornish-Fisher expansion, which is 1 % off at 3 degrees.
    """
    z = 1.959964
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + one * (first + one * (second + one * third))
