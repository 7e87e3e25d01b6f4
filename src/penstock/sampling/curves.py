"""Curves over all distances, put together from two samples.

Short distances are counted in the runs: in the second part of a run it is certain whether a key
came within the last k tuples, or was among the last m keys. Long distances are counted in the
sample of the keys. Popular keys, which make such a sample uneven, seldom come again after a long
time, so they hardly matter there.

What all distances together come to is known: every tuple but the first of each key. So the long
part of a curve starts where the short one ends, ends at what is known, and the sample of the keys
tells only how it runs in between. (The paper on SHARDS corrects the other end: it adds to the
shortest distance what the sample has too little or too much of.)
"""

import numpy as np
from numpy.typing import NDArray

from ..models.record import Estimate
from ..numeric import Ints
from ..profiling.popularity import Popularity
from ..profiling.reuse import stack_distances
from ..profiling.sampled import Curve
from ..profiling.stretches import Stretches
from .bins import LAST, bin_of
from .estimate import ratio

ENOUGH = 400  # sampled keys that a stack distance spans, above which the sample tells it well

Floats = NDArray[np.float64]


def short_depths(known: Stretches, rate: float) -> tuple[Floats, Floats]:
    """Return how many tuples have each stack distance up to what the runs know; and of how many.

    The counts are float64[runs, distance + 1] and float64[runs].
    """
    fresh = [np.cumsum(one.before < 0) for one in known.each()]
    room = min(int(each[len(each) // 2]) for each in fresh)
    room = max(1, min(room, int(np.ceil(ENOUGH / rate))))
    found, told = [], []
    for one, different in zip(known.each(), fresh):
        earlier: Ints = different - (one.before < 0)  # keys that came before it in the run
        sure = np.asarray(earlier >= room)
        depth = stack_distances(one.key, one.before)[sure]
        found.append(np.bincount(depth[(depth > 0) & (depth <= room)], minlength=room + 1))
        told.append(sure.sum())
    return np.array(found, np.float64), np.array(told, np.float64)


def short_gaps(known: Stretches, room: int) -> tuple[Floats, Floats]:
    """Return how many tuples come again after each distance up to `room`; and of how many."""
    found, told = [], []
    for one in known.each():
        place = np.arange(len(one.key))
        sure = place >= room
        gap = (place - one.before)[sure & (one.before >= 0)]
        found.append(np.bincount(gap[gap <= room], minlength=room + 1))
        told.append(sure.sum())
    return np.array(found, np.float64), np.array(told, np.float64)


def joined(
    short: tuple[Floats, Floats], all_keys: Floats, groups: Floats, end: Estimate,
    runs_known: float, keys_known: float,
) -> Curve:  # fmt: skip
    """Return the curve of both samples.

    short: counts and their total, from the runs.
    all_keys, groups: bins of distances: of the sampled keys, and of each group of them.
    end: what all distances come to, and its error.
    runs_known, keys_known: which part of the stream the runs are, and of the keys the sample.
    """
    count, told = short
    room = count.shape[1] - 1
    ends = LAST[: _last_used(all_keys) + 1]
    near, far = np.append(LAST[: int(bin_of(room))], room), ends[ends > room]
    value, error = ratio(np.cumsum(count, axis=1)[:, near], told, runs_known)
    value = np.minimum(value, end.value)
    run, run_error = _between(all_keys, groups, far, keys_known)
    left = end.value - value[-1]
    part = value[-1] + left * run
    off = np.sqrt(
        ((1 - run) * error[-1]) ** 2 + (left * run_error) ** 2 + (run * (end.error or 0.0)) ** 2
    )
    return Curve(np.append(near, far), np.append(value, part), np.append(error, off))


def _last_used(bins: Floats) -> int:
    used = np.flatnonzero(bins)
    return int(used[-1]) if len(used) else 0


def _between(all_keys: Floats, groups: Floats, far: Ints, known: float) -> tuple[Floats, Floats]:
    """Return how long distances are spread: the part up to each of `far`, and its error."""
    if not len(far):
        return np.zeros(0), np.zeros(0)
    first, asked = int(bin_of(far[0])), len(far)
    run = np.cumsum(all_keys[first:])[:asked] / all_keys[first:].sum()
    mass = groups[:, first:].sum(axis=1)
    if not mass.sum():
        return run, np.ones_like(run)
    return run, ratio(np.cumsum(groups[:, first:], axis=1)[:, :asked], mass, known)[1]


def random_order(seen: Popularity) -> Curve:
    """Return the distances to be expected if the same tuples came in random order.

    Of c tuples among n in random order, two neighbours are more than k apart with the probability
    C(n - k, c) / C(n, c).

    >>> random_order(Popularity(np.array([500, 500]), np.array([1, 1]))).value([1, 2]).round(3)
    array([0.499, 0.749])
    """
    n = seen.total
    knots = LAST[: int(np.searchsorted(LAST, n - 1)) + 1]
    again = seen.alike * (seen.count - 1.0)
    part = [float(again @ (1 - _apart(n, seen.count, int(k)))) / n for k in knots]
    return Curve(knots, np.maximum.accumulate(part), np.zeros(len(knots)))


def _apart(n: int, count: Ints, k: int) -> Floats:
    """Return C(n - k, c) / C(n, c): a product of min(c, k) factors, all taken as the middle one."""
    few, many = np.minimum(count, k).astype(float), np.maximum(count, k).astype(float)
    middle = n - (few - 1) / 2
    factor = np.minimum(many / middle, 1 - 1e-16)
    return np.where(few + many > n, 0.0, np.exp(few * np.log1p(-factor)))
