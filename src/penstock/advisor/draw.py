"""Samples of streams that lie in arrays."""

import numpy as np
from numpy.typing import NDArray

from ..offline import exact_results
from ..workloads.trace import Ints
from .hot import KeyTable, Split, split_keys, weights_of
from .live import Live, live_rows
from .sample import JoinSample, LookupSample, join_sample
from .stretches import WHOLE, Stretch, choose_stretches

WORK = 600_000  # rows, or as much in matches, that every replay takes
ERROR = 0.01  # one standard deviation
SLOTS = 3200  # a weight leaves so many in the whole window, and so 32 in a memory of 1 %
COARSEST = 0.08  # an error beyond which more work is better than less of it
BINS = 65_536  # of time


def draw_join(
    side: NDArray, key: Ints, time: Ints, within: int | None, work: int, error: float, seed: int
) -> tuple[JoinSample, Live]:
    """Return a sample of rows in (time, side) order, and how many are alive in the whole."""
    live = live_rows(time, within)
    table, number = key_table(side, key, time, within)
    split, part = plan(table, live.mean, work, error, within)
    stretches = WHOLE
    if part < 1:
        rows, edges = np.histogram(time, min(BINS, max(1, int(time[-1] - time[0]))))
        stretches = choose_stretches(edges, rows, part, live.mean, within, seed)
    weight = weights_of(table, split, seed)[number]
    kept = np.flatnonzero((weight > 0) & _inside(time, stretches))
    taken = side[kept], key[kept], time[kept], weight[kept]
    return join_sample(*taken, within, stretches, split), live


def key_table(
    side: NDArray, key: Ints, time: Ints, within: int | None
) -> tuple[KeyTable, NDArray[np.int64]]:
    """Return what is known of each key, and the number of each row's key."""
    keys, number = np.unique(key, return_inverse=True)
    end = None if within is None else time + within
    found = exact_results(side, key, time, end)[0]
    matches = np.bincount(number, found).astype(np.float64)
    return KeyTable(keys, np.bincount(number), matches), number


def plan(
    table: KeyTable, live: float, work: int, error: float, within: int | None
) -> tuple[Split, float]:
    """Return which keys to take, and which part of the time, so that about `work` is left.

    Keys are left out as far as a small memory has slots for; what is still too much is left out of
    the time. Where there is no window, or too few of them, a larger error has to do.
    """
    total = max(1.0, float(table.work.sum()))
    while True:
        split = split_keys(table, work / total, live / SLOTS, error)
        part = min(1.0, work / (total * split.work))
        windows = part * table.rows.sum() / max(1.0, live)
        if part == 1 or (within is not None and windows >= 2) or error >= COARSEST:
            return split, part if within is not None else 1.0
        error *= 2


def _inside(time: Ints, stretches: tuple[Stretch, ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(time), bool)
    for each in stretches:
        first, stop = np.searchsorted(time, [each.warm, each.stop])
        inside[first:stop] = True
    return inside


def draw_lookup(key: Ints, work: int, error: float, seed: int) -> LookupSample:
    """Return a sample of references."""
    keys, number, rows = np.unique(key, return_inverse=True, return_counts=True)
    table = KeyTable(keys, rows, np.zeros(len(keys)))
    split, _ = plan(table, float(len(keys)), work, error, None)
    weight = weights_of(table, split, seed)[number]
    kept = np.flatnonzero(weight > 0)
    return LookupSample(np.ascontiguousarray(key[kept]), weight[kept], split.spread)
