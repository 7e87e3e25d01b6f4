"""How candidates did beside the one in force, look by look, and what that promises.

Results come in bursts, so their number says little about its own noise; differences between two
that saw the same rows do. What is longer ago counts less.
"""

from typing import NamedTuple

import numpy as np

FADE = 0.85  # what a look counts of the one after it
USUAL = 0.2  # by which share candidates differ, as a rule: what says more is doubted


class Beside(NamedTuple):
    """Each candidate beside the one in force, over the looks that they shared."""

    share: np.ndarray  # by which share of its results each is ahead; NaN: too few looks
    error: np.ndarray  # the standard error of that
    total: np.ndarray  # the results of the one in force

    @property
    def promise(self) -> np.ndarray:
        """The share by which each may be expected to be ahead: less, the less is known."""
        return self.share * USUAL**2 / (USUAL**2 + self.error**2)


def compare(found: np.ndarray, choice: int, fewest: int) -> Beside:
    """Return how all did beside one of them: `found` are float64[looks, candidates], NaN: asleep.

    >>> beside = compare(np.array([[10.0, 12, 5], [10, 13, np.nan], [10, 11, np.nan]]), 0, 2)
    >>> beside.share.round(2).tolist()
    [0.0, 0.19, nan]
    """
    more = found - found[:, [choice]]
    shared = ~np.isnan(more)
    age = np.arange(len(found))[::-1, None]
    weight = np.where(shared, FADE**age, 0.0)
    more = np.where(shared, more, 0.0)
    count, whole = shared.sum(0), np.maximum(weight.sum(0), 1e-9)
    total = np.maximum((weight * np.where(shared, found[:, [choice]], 0.0)).sum(0), 1.0)
    mean = (weight * more).sum(0) / whole
    spread = ((weight * (more - mean)) ** 2).sum(0) * count / np.maximum(count - 1, 1)
    share = np.where(count < fewest, np.nan, mean * whole / total)
    return Beside(share, np.sqrt(spread) / total, total)
