"""Curves over all distances, estimated from two samples.

Short distances are counted in the stretches: in the second part of a stretch it is certain whether
a key occurred within the last k rows, or was among the last m keys. Long distances are counted in
the sample of the keys. Popular keys, which make such a sample uneven, seldom have long distances,
so they hardly matter there.

The end of a curve is known: every row except the first of each key repeats a key. So the long part
of a curve starts where the short one ends and ends at the known value; the sample of the keys only
determines its course in between. (The paper on SHARDS corrects the other end: it adds the surplus
or the deficit of the sample to the shortest distance.)

Errors are half the width of a 95 % interval, from the differences between parts of a sample.
"""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..numeric import Estimate, Floats, Ints, student_within
from .distances import Curve, Distances, stack_distances
from .key_sample import LAST, bin_of
from .popularity import Popularity
from .ranked import Stretches

ENOUGH = 400  # sampled keys within a stack distance, from which on the sample estimates it well

Kind = TypeVar("Kind", bound=Curve)
Counts = tuple[Floats, Floats]  # rows by stretch and distance, and the rows examined by stretch


def ratio(part: Floats, whole: Floats, known: float) -> tuple[Floats, Floats]:
    """Return sums of parts divided by sums of wholes, and the errors of these ratios.

    part: float64[samples, ratios]. whole: float64[samples].
    known: the share of the population that the samples contain; with all of it there is no error.

    Source: Cochran, "Sampling techniques", section 6.4.
    """
    samples, total = len(whole), whole.sum()
    value = part.sum(axis=0) / total
    if samples < 2:
        return value, np.ones_like(value)
    off = part - value * whole[:, None]
    spread = np.sqrt((off**2).sum(axis=0) * samples / (samples - 1)) / total
    return value, _wide(samples, known) * spread


def mean_error(values: Floats, known: float) -> float:
    """Return the error of the mean of several estimates.

    >>> round(mean_error(np.array([1.0, 2.0, 3.0]), known=0.0), 3)
    2.484
    """
    if len(values) < 2:
        return float("inf")
    spread = float(values.std(ddof=1)) / np.sqrt(len(values))
    return float(_wide(len(values), known) * spread)


def _wide(samples: int, known: float) -> float:
    return student_within(0.95, samples - 1) * float(np.sqrt(max(0.0, 1 - known)))


def short_depths(known: Stretches, rate: float) -> Counts:
    """Count short stack distances in the stretches; `rate` is that of the sample of the keys."""
    fresh = [np.cumsum(one.before < 0) for one in known.each()]
    room = min(int(each[len(each) // 2]) for each in fresh)
    room = max(1, min(room, int(np.ceil(ENOUGH / rate))))
    parts = []
    for one, different in zip(known.each(), fresh):
        earlier: Ints = different - (one.before < 0)  # keys before each row in its stretch
        parts.append((stack_distances(one.key, one.before), np.asarray(earlier >= room)))
    return _counted(room, parts)


def short_gaps(known: Stretches, room: int) -> Counts:
    """Count inter-arrival distances up to `room` in the stretches."""
    places = ((np.arange(len(one.key)), one.before) for one in known.each())
    return _counted(
        room, ((np.where(before >= 0, at - before, 0), at >= room) for at, before in places)
    )


def _counted(room: int, parts: Iterable[tuple[Ints, NDArray[np.bool_]]]) -> Counts:
    """Count distances from 1 to `room`, of the rows for which they are certain."""
    found, examined = [], []
    for distance, certain in parts:
        short = certain & (distance > 0) & (distance <= room)
        found.append(np.bincount(distance[short], minlength=room + 1))
        examined.append(certain.sum())
    return np.array(found, np.float64), np.array(examined, np.float64)


def joined(
    kind: type[Kind], short: Counts, all_keys: Floats, groups: Floats, end: Estimate, rows: int,
    rows_known: float, keys_known: float,
) -> Kind:  # fmt: skip
    """Return the curve of both samples.

    kind: of the distances.
    short: the counts from the stretches.
    all_keys, groups: distances in bins: of the sampled keys, and of each group of them.
    end: the share of all rows that repeat a key, and its error.
    rows: the length of the stream.
    rows_known, keys_known: the share of the rows in the stretches, and of the keys in the sample.
    """
    count, examined = short
    room = count.shape[1] - 1
    ends = LAST[: np.max(np.flatnonzero(all_keys), initial=0) + 1]
    near, far = np.append(LAST[: int(bin_of(room))], room), ends[ends > room]
    value, error = ratio(np.cumsum(count, axis=1)[:, near], examined, rows_known)
    value = np.minimum(value, end.value)
    course, course_error = _between(all_keys, groups, far, keys_known)
    left = end.value - value[-1]
    part = value[-1] + left * course
    off = np.sqrt(
        ((1 - course) * error[-1]) ** 2
        + (left * course_error) ** 2
        + (course * (end.error or 0.0)) ** 2
    )
    return kind(np.append(near, far), np.append(value, part), np.append(error, off), rows)


def _between(all_keys: Floats, groups: Floats, far: Ints, known: float) -> tuple[Floats, Floats]:
    """Return the course of the long distances: the part up to each of `far`, and its error."""
    if not len(far):
        return np.zeros(0), np.zeros(0)
    first, asked = int(bin_of(far[0])), len(far)
    course = np.cumsum(all_keys[first:])[:asked] / all_keys[first:].sum()
    mass = groups[:, first:].sum(axis=1)
    if not mass.sum():
        return course, np.ones_like(course)
    return course, ratio(np.cumsum(groups[:, first:], axis=1)[:, :asked], mass, known)[1]


def random_order(seen: Popularity) -> Distances:
    """Return the expected distances if the same rows were in random order.

    Of c rows among n in random order, two neighbours are more than k apart with the probability
    C(n - k, c) / C(n, c).

    >>> random_order(Popularity(np.array([500, 500]), np.array([1, 1]))).within([1, 2]).round(3)
    array([0.499, 0.749])
    """
    n = seen.total
    knots = LAST[: int(np.searchsorted(LAST, n - 1)) + 1]
    again = seen.alike * (seen.count - 1.0)
    part = [float(again @ (1 - _apart(n, seen.count, int(k)))) / n for k in knots]
    return Distances(knots, np.maximum.accumulate(part), np.zeros(len(knots)), n)


def _apart(n: int, count: Ints, k: int) -> Floats:
    """Return C(n - k, c) / C(n, c): a product of min(c, k) factors, all taken as the middle one."""
    few, many = np.minimum(count, k).astype(float), np.maximum(count, k).astype(float)
    middle = n - (few - 1) / 2
    factor = np.minimum(many / middle, 1 - 1e-16)
    return np.where(few + many > n, 0.0, np.exp(few * np.log1p(-factor)))
