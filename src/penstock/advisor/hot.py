"""Which keys a sample must hold: the hot ones are all in it, of the others a part by their hashes.

Whether a key that makes a tenth of all results is in the sample or not decides what the sample
says. So keys whose share is large are always in, and stand for themselves. Each of the others is in
with the chance 1 / weight, and if it is, stands for `weight` keys like itself: its rows take so
much of the memory, and its results count so often.

How many keys must be hot follows from the error that is wanted. A key with the share x of all
results adds at most x ** 2 x (weight - 1) x r (1 - r) to the variance of a recall r.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sampling.keys import hashes, threshold_for
from ..workloads.trace import Ints

WEIGHTS = tuple(2**power for power in range(1, 13))
WORST = 0.25  # r (1 - r) is never more
MATCHES = 10  # to find so many matches takes as long as to take in a row


class KeyTable(NamedTuple):
    """What is known of each key."""

    key: Ints
    rows: Ints
    matches: NDArray[np.float64]  # results of an unlimited memory, or hits

    @property
    def work(self) -> NDArray[np.float64]:
        """How long its rows take, in rows."""
        return self.rows + self.matches / MATCHES

    @property
    def share(self) -> NDArray[np.float64]:
        """Its part of all matches, or of all rows where that is more."""
        matches, rows = (each / max(1, each.sum()) for each in (self.matches, self.rows))
        return np.maximum(matches, rows)


class Split(NamedTuple):
    """Who is in the sample."""

    hot: NDArray[np.bool_]  # for each key of the table
    weight: int  # of the others; 1: all keys are in
    work: float  # that is left, as a part of all work
    spread: float  # what chance does to a recall r: sqrt(r (1 - r)) times this

    @property
    def everything(self) -> bool:
        """Whether no key is left out."""
        return self.weight == 1


def split_keys(table: KeyTable, most: float, heaviest: float, error: float) -> Split:
    """Return a split that leaves `most` of the work; if there is none, that which leaves least.

    heaviest: the largest weight that leaves enough slots in a small memory.
    error: how far chance may take a recall off, as one standard deviation.

    >>> alike = KeyTable(np.arange(10_000), np.full(10_000, 7), np.full(10_000, 10.0))
    >>> split_keys(alike, most=0.2, heaviest=64, error=0.02).weight
    8
    """
    best = Split(np.ones(len(table.key), bool), 1, 1.0, 0.0)
    order = np.argsort(table.share)
    tail = np.cumsum(table.share[order] ** 2)
    work = table.work / max(1e-9, table.work.sum())
    for weight in WEIGHTS:
        if best.work <= most or weight > heaviest:
            break
        cold = int(np.searchsorted(tail * (weight - 1) * WORST, error**2, side="right"))
        hot = np.ones(len(order), bool)
        hot[order[:cold]] = False
        left = float(work[hot].sum() + work[~hot].sum() / weight)
        if left < 0.8 * best.work:  # less is not worth its error
            spread = float(np.sqrt((weight - 1) * tail[cold - 1])) if cold else 0.0
            best = Split(hot, weight, left, spread)
    return best


def weights_of(table: KeyTable, split: Split, seed: int) -> Ints:
    """Return how many keys each key stands for: 0 where it is not in the sample."""
    if split.everything:
        return np.ones(len(table.key), np.int64)
    drawn = hashes(table.key, seed) <= np.uint64(threshold_for(1 / split.weight))
    return np.where(split.hot, 1, np.where(drawn, split.weight, 0)).astype(np.int64)
