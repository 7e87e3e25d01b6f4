"""The estimate of recall, with its interval, from sums over a sample of units.

A unit is a watched row (`pairs`), or the sampled keys of a group (`keys`). It was drawn with a
known chance; it has `met` so many results that an unlimited memory would have found, of which the
join has `lost` some. How many results were found in all is known exactly, so only those lost have
to be estimated: their total is the sum of lost / chance. All sums add up over buckets, and over
stretches of time with different budgets and shares. Any other count per unit that adds up can be
estimated in the same way.
"""

import math
from typing import NamedTuple

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


def estimate(sums: dict[str, float], matches: float, gone: float) -> Recall:
    """Return the recall, given the results found and the rows evicted or rejected.

    Where no row was, nothing was lost. Where rows were while none was watched (`blind`), what
    they lost is not known: the upper end of the interval still holds, and the lower one is 0.
    """
    if gone <= 0:
        return Recall(1.0, 1.0, 1.0)
    fewest, most = _interval(sums)
    low, high = _share(matches, most), _share(matches, fewest)
    if sums["blind"] > 0:
        return Recall(None, 0.0, high)
    lost = sums["certain"] + sums["lost"]
    seen = sums["drawn"] <= 0 or sums["met"] > 0 or lost > 0
    known = seen and matches + lost > 0
    return Recall(_share(matches, lost) if known else None, low, high)


def _share(matches: float, lost: float) -> float:
    return matches / (matches + lost) if matches + lost > 0 else 1.0


def _interval(sums: dict[str, float]) -> tuple[float, float]:
    """Return the fewest and the most results that may have been lost.

    A total x that is expected varies by sqrt(c x), where c is the size of one loss, weighed, in
    the sample: the interval holds every x that lies within t of these from the total found. So it
    is wider upward, and reaches up from 0 where no loss was seen. A loss that was not seen may be
    larger than those that were: while these are few, one as large as all that a watched row met is
    counted among them.
    """
    sure, lost, spread = sums["certain"], sums["lost"], sums["lost2"]
    if sums["drawn"] <= 0:
        return sure, sure
    if sums["watched"] <= 0:
        return sure, math.inf
    whole = sums["drawn"] / sums["watched"]  # one result of one row, weighed
    if sums["met"] > 0:
        whole = sums["met2"] / sums["met"]
    losses = lost**2 / spread if spread > 0 else 0.0  # of equal size, these would vary as much
    unseen = math.exp(-losses / FADE)
    size = (spread + unseen * whole**2) / (lost + unseen * whole) if whole > 0 else 0.0
    middle = lost + _student(losses + 1) ** 2 * size / 2
    reach = math.sqrt(max(0.0, middle**2 - lost**2))
    return sure + middle - reach, sure + middle + reach


def _student(freedom: float) -> float:
    """Return the 97.5 % point of Student's t (Cornish-Fisher expansion; 1 % off at 3 degrees)."""
    z = 1.959964
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
