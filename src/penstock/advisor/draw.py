"""Which keys a sample holds, and which parts of the time.

**Keys.** The hot ones are all in it, of the others a part by their hashes.

Whether a key that makes a tenth of all results is in the sample or not decides what the sample
says. So keys whose share is large are always in, and stand for themselves. Each of the others is in
with the chance 1 / weight, and if it is, stands for `weight` keys like itself: its rows take so
much of the memory, and its results count so often.

How many keys must be hot follows from the error that is wanted. A key with the share x of all
results adds at most x ** 2 x (weight - 1) x r (1 - r) to the variance of a recall r.

A key of which thousands of rows are live has millions of results, and to replay all of them takes
longer than all else. Two things are done about it, the harmless one first:

- Of its rows all come, and touch what is held, but only 1 of g may be kept, and stands for g of
  them (`crowd`). What is learnt of the key, and how often a held row is touched, is as it was.
- Of its rows 1 of e comes (`rush`): so few, that what is left still comes far more often than
  anything is evicted, and that a key that comes more often than another still does.

**Time.** Stretches of several windows, evenly spread. Each begins with one window in which memories
fill and nothing counts. What a policy has learnt in one stretch it knows in the next; what it held
has expired by then.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernel.gains import PAIRS, ROWS
from ..numeric import Floats, Ints
from ..profile.sketch import hashes, threshold_for

WEIGHTS = tuple(2**power for power in range(1, 13))
WORST = 0.25  # r (1 - r) is never more
MATCHES = 20  # to find so many matches takes as long as to take in a row
SLOPE = 2 / 3  # of n times as many live rows, n ** (1 - SLOPE) times as many stay
STEP = 16  # how many rows one stands for is given in sixteenths


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
    rush: float = np.inf  # of keys with more live rows, some do not come
    crowd: float = np.inf  # of keys with more live rows that came, some are not kept


class Split(NamedTuple):
    """Which keys are in the sample."""

    hot: NDArray[np.bool_]  # for each key of the table
    weight: int  # of the others; 1: all keys are in
    thin: Floats  # for each key: how many of its rows one that comes stands for, if it is hot
    limits: Limits
    work: float  # that is left, as a part of all work

    @property
    def everything(self) -> bool:
        """Whether all rows come; of a crowd only some may be kept."""
        return self.weight == 1 and bool((self.thin == 1).all())


def thinned(live: NDArray, rush: float) -> Floats:
    """Return how many rows one stands for, of keys that have so many live; 1 up to a `rush`.

    >>> thinned(np.array([10, 1000, 8000]), rush=1000).tolist()
    [1.0, 1.0, 4.0]
    """
    return np.maximum(1.0, np.rint(STEP * (live / rush) ** SLOPE) / STEP)


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
    live, error = table.rows / windows, limits.error
    thin = thinned(live, limits.rush)
    total = max(1e-9, float(table.work.sum()))
    if_hot, if_cold = (
        (table.rows / e + table.matches / e**2 / np.maximum(1, live / e / limits.crowd) / MATCHES)
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


EACH = 4  # windows in a stretch, where there are enough of them
SHORTEST = 2  # windows in a stretch: one to fill memories, one that counts
FEWEST, MOST = 3, 96  # stretches: how far they are apart tells how far off all of them may be
TOO_MUCH = 0.7  # what would be left out would not be worth the warming up


class Stretch(NamedTuple):
    """A part of the time; results count from `start` to below `stop`."""

    warm: float  # the first time that is looked at
    start: float
    stop: float


WHOLE: tuple[Stretch, ...] = (Stretch(-np.inf, -np.inf, np.inf),)


def choose_stretches(
    edges: NDArray, rows: NDArray, part: float, window_rows: float, within: float | None, seed: int
) -> tuple[Stretch, ...]:
    """Return stretches that hold about this part of the rows.

    edges, rows: how many rows came between each two times.
    window_rows: how many a window has.

    >>> edges, rows = np.arange(1001), np.ones(1000)
    >>> found = choose_stretches(edges, rows, part=0.24, window_rows=10, within=10, seed=0)
    >>> len(found), round(sum(each.stop - each.warm for each in found))
    (6, 240)
    """
    total = float(rows.sum())
    windows = total / max(1.0, window_rows)
    part = part_of(part, windows, FEWEST)
    if within is None or part == 1:
        return WHOLE
    count = int(np.clip(part * windows // EACH, FEWEST, MOST))
    came = np.concatenate(([0.0], np.cumsum(rows)))
    block, each = total / count, part * total / count
    offset = np.random.default_rng(seed).random() * (block - each)
    first = np.arange(count) * block + offset
    warm = np.interp(first, came, edges)
    stop = np.interp(first + each, came, edges)
    return _apart(warm, stop, within)


def part_of(wanted: float, windows: float, fewest: int) -> float:
    """Return which part of the time to look at: not less than so many stretches, or all of it.

    >>> part_of(0.01, windows=100, fewest=8), part_of(0.01, windows=20, fewest=8)
    (0.16, 1.0)
    """
    part = max(wanted, fewest * SHORTEST / max(1.0, windows))
    return 1.0 if part > TOO_MUCH else part


def _apart(warm: NDArray, stop: NDArray, within: float) -> tuple[Stretch, ...]:
    """Return the stretches, those that a window cannot keep apart made one."""
    found: list[Stretch] = []
    for begin, end in zip(warm.tolist(), stop.tolist(), strict=True):
        if found and begin <= found[-1].stop + within:
            found[-1] = found[-1]._replace(stop=end)
        elif end > begin + within:
            found.append(Stretch(begin, begin + within, end))
    return tuple(found) if len(found) >= FEWEST else WHOLE


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
# With the goal of rows a memory holds one row of a hot key and not all of them, so that it comes
# upon far fewer matches; and where only every g-th row may be kept, that one stands for too many.
FEWER = 10
LITTLE_MORE = 1.25  # than the work wanted is no reason to give up more


def plan(
    table: KeyTable,
    live: float,
    work: int,
    error: float,
    within: int | None,
    goal: str = PAIRS,
) -> tuple[Split, float]:
    """Return which keys to take, and which part of the time, so that about `work` is left.

    Keys are left out as far as a small memory has slots for; what is still too much is left out of
    the time. Where there is no window, or too few of them for a good number of stretches, rows of
    the hottest keys are left out too, and then a larger error has to do.
    """
    if goal == ROWS:
        table = table._replace(matches=table.matches / FEWER)
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
