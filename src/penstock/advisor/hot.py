"""Which keys a sample must hold: the hot ones are all in it, of the others a part by their hashes.

Whether a key that makes a tenth of all results is in the sample or not decides what the sample
says. So keys whose share is large are always in, and stand for themselves. Each of the others is in
with the chance 1 / weight, and if it is, stands for `weight` keys like itself: its rows take so
much of the memory, and its results count so often.

How many keys must be hot follows from the error that is wanted. A key with the share x of all
results adds at most x ** 2 x (weight - 1) x r (1 - r) to the variance of a recall r.

A key of which thousands of rows are alive has millions of results, and to replay all of them takes
longer than all else. Two things are done about it, the harmless one first:

- Of its rows all come, and touch what is held, but only 1 of g may be kept, and stands for g of
  them (`crowd`). What is learnt of the key, and how often a held row is touched, is as it was.
- Of its rows 1 of e comes (`rush`): so few, that what is left still comes far more often than
  anything is evicted, and that a key that comes more often than another still does.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from ..profile.key_sample import hashes, threshold_for

Floats = NDArray[np.float64]

WEIGHTS = tuple(2**power for power in range(1, 13))
WORST = 0.25  # r (1 - r) is never more
MATCHES = 20  # to find so many matches takes as long as to take in a row
SLOPE = 2 / 3  # of n times as many rows alive, n ** (1 - SLOPE) times as many stay
STEP = 16  # how many rows one stands for is told in sixteenths


class KeyTable(NamedTuple):
    """What is known of each key."""

    key: Ints
    rows: Ints
    matches: Floats  # results of an unlimited memory, or hits

    @property
    def work(self) -> Floats:
        """How long its rows take, in rows."""
        return self.rows + self.matches / MATCHES

    @property
    def share(self) -> Floats:
        """Its part of all matches, or of all rows where that is more."""
        matches, rows = (each / max(1, each.sum()) for each in (self.matches, self.rows))
        return np.maximum(matches, rows)


class Limits(NamedTuple):
    """How much of hot keys is left out."""

    error: float  # how far chance may take a recall off, as one standard deviation
    rush: float = np.inf  # of keys with more rows alive, some do not come
    crowd: float = np.inf  # of keys with more rows alive that came, some are not kept


class Split(NamedTuple):
    """Who is in the sample."""

    hot: NDArray[np.bool_]  # for each key of the table
    weight: int  # of the others; 1: all keys are in
    thin: Floats  # for each key: how many of its rows one that comes stands for, if it is hot
    limits: Limits
    work: float  # that is left, as a part of all work

    @property
    def everything(self) -> bool:
        """Whether all rows come; of a crowd only some may be kept."""
        return self.weight == 1 and bool((self.thin == 1).all())


def thinned(alive: NDArray, rush: float) -> Floats:
    """Return how many rows one stands for, of keys that have so many alive; 1 up to a `rush`.

    >>> thinned(np.array([10, 1000, 8000]), rush=1000).tolist()
    [1.0, 1.0, 4.0]
    """
    return np.maximum(1.0, np.rint(STEP * (alive / rush) ** SLOPE) / STEP)


def split_keys(
    table: KeyTable, most: float, heaviest: float, limits: Limits, windows: float = np.inf
) -> Split:
    """Return a split that leaves `most` of the work; if there is none, that which leaves least.

    heaviest: the largest weight that leaves enough slots in a small memory.
    windows: how many there are in the data.

    >>> alike = KeyTable(np.arange(10_000), np.full(10_000, 7), np.full(10_000, 10.0))
    >>> split_keys(alike, most=0.2, heaviest=64, limits=Limits(0.02)).weight
    8
    """
    alive, error = table.rows / windows, limits.error
    thin = thinned(alive, limits.rush)
    total = max(1e-9, float(table.work.sum()))
    if_hot, if_cold = (
        (table.rows / e + table.matches / e**2 / np.maximum(1, alive / e / limits.crowd) / MATCHES)
        / total
        for e in (thin, np.ones(len(thin)))
    )
    best = Split(np.ones(len(table.key), bool), 1, thin, limits, float(if_hot.sum()))
    order = np.argsort(table.share)
    tail = np.cumsum(table.share[order] ** 2)
    for weight in WEIGHTS:
        if best.work <= most or weight > heaviest:
            break
        cold = int(np.searchsorted(tail * (weight - 1) * WORST, error**2, side="right"))
        hot = np.ones(len(order), bool)
        hot[order[:cold]] = False
        left = float(if_hot[hot].sum() + if_cold[~hot].sum() / weight)
        if left < 0.8 * best.work:  # less is not worth its error
            best = Split(hot, weight, thin, limits, left)
    return best


def weights_of(table: KeyTable, split: Split, seed: int) -> Floats:
    """Return how many rows a row of each key stands for: 0 where the key is not in the sample."""
    if split.weight == 1:
        return split.thin
    drawn = hashes(table.key, seed) <= np.uint64(threshold_for(1 / split.weight))
    return np.where(split.hot, split.thin, np.where(drawn, float(split.weight), 0.0))
