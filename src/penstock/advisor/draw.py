"""Samples of streams that lie in arrays."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from ..simulate.unlimited import exact_results
from .hot import KeyTable, Limits, Split, split_keys, weights_of
from .live import Live, live_rows
from .sample import JoinSample, LookupSample, join_sample, lookup_sample
from .stretches import FEWEST, WHOLE, Stretch, choose_stretches, part_of

WORK = 800_000  # rows, or as much in matches, that every replay takes
ERROR = 0.01  # one standard deviation
SLOTS = 3200  # a weight leaves so many in the whole window, and so 32 in a memory of 1 %
# What to give up, the first first: see `Limits`; then certainty.
NO_LIMIT = np.inf
CROWDS = (
    (NO_LIMIT, NO_LIMIT), (NO_LIMIT, 1000), (NO_LIMIT, 250), (NO_LIMIT, 100),
    (4000, 100), (1000, 50), (500, 50),
)  # fmt: skip
COARSER = tuple(product((1, 2, 4, 8), CROWDS))
MANY = 8  # stretches of time, that tell their own error well
LITTLE_MORE = 1.25  # than the work wanted is no reason to give up more
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
    hot = split.hot[number]
    inside = (weight > 0) & _inside(time, stretches)
    if (split.thin > 1).any():
        inside &= ~hot | (np.random.default_rng(seed).random(len(key)) * weight < 1)
    kept = np.flatnonzero(inside)
    taken = side[kept], key[kept], time[kept], weight[kept], hot[kept]
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
    the time. Where there is no window, or too few of them for a good number of stretches, rows of
    the hottest keys are left out too, and then a larger error has to do.
    """
    total = max(1.0, float(table.work.sum()))
    windows = float(table.rows.sum()) / max(1.0, live)
    tried: list[tuple[float, Split, float]] = []
    for fewest, (times, (rush, crowd)) in product((MANY, FEWEST), COARSER):
        limits = Limits(times * error, rush, crowd)
        split = split_keys(table, work / total, live / SLOTS, limits, windows)
        wanted = work / (total * split.work)
        part = 1.0 if within is None else part_of(wanted, windows, fewest)
        tried.append((total * split.work * part, split, part))
        if tried[-1][0] <= LITTLE_MORE * work:
            break
    _, split, part = min(tried, key=lambda each: each[0])
    return split, part


def plan_lookup(table: KeyTable, work: int, error: float) -> Split:
    """Return which keys to take, so that about `work` references are left."""
    total = int(table.rows.sum())
    for times in (1, 2, 4, 8):
        split = split_keys(table, work / total, len(table.key) / SLOTS, Limits(times * error))
        if total * split.work <= LITTLE_MORE * work:
            break
    return split


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
    split = plan_lookup(table, work, error)
    weight = weights_of(table, split, seed)[number]
    kept = np.flatnonzero(weight > 0)
    return lookup_sample(key[kept], weight[kept], split.hot[number[kept]])
