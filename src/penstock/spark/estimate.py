"""The estimate of recall, with its interval, from sums over the groups of a sample."""

import math
from typing import NamedTuple

import numpy as np

GROUPS = 32  # per bucket; whoever is sampled falls into one of them by chance
SUMS = ("groups", "a", "e", "aa", "ae", "ee")


def sums_of(actual: np.ndarray, expected: np.ndarray) -> dict[str, float]:
    """Return what the estimate needs, in a form that adds up over buckets."""
    used = expected > 0
    a, e = actual[used].astype(float), expected[used].astype(float)
    values = (float(used.sum()), a.sum(), e.sum(), (a * a).sum(), (a * e).sum(), (e * e).sum())
    return dict(zip(SUMS, map(float, values), strict=True))


class Recall(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def estimate(sums: dict[str, float], sample: float) -> Recall | None:
    """Return the recall by the ratio of sums over groups, None while nothing was there to find.

    The interval is that of a ratio estimate from groups of unequal size (Cochran, "Sampling
    techniques", section 6.4), with Student's t in place of 1.96 where groups are few.
    """
    n, total = sums["groups"], sums["e"]
    if total <= 0:
        return None
    ratio = sums["a"] / total
    if n < 2:
        return Recall(ratio, 0.0, 1.0)
    spread = sums["aa"] - 2 * ratio * sums["ae"] + ratio**2 * sums["ee"]
    variance = max(0.0, spread) * n / (n - 1) / total**2 * (1 - sample)
    margin = _student(n - 1) * math.sqrt(variance)
    return Recall(ratio, max(0.0, ratio - margin), min(1.0, ratio + margin))


def _student(freedom: float) -> float:
    """Return the 97.5 % point of Student's t (Cornish-Fisher expansion; 1 % off at 3 degrees)."""
    z = 1.959964
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
