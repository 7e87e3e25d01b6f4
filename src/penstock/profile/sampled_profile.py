"""The profile of a stream from its sketch, with the errors of what was estimated.

Curves over all distances are estimated from two samples. Short distances are counted in the
stretches: in the second part of a stretch it is certain whether a key occurred within the last k
rows, or was among the last m keys. Long distances are counted in the sample of the keys. Popular
keys, which make such a sample uneven, seldom have long distances, so they hardly matter there.

The end of a curve is known: every row except the first of each key repeats a key. So the long part
of a curve starts where the short one ends and ends at the known value; the sample of the keys only
determines its course in between. (The paper on SHARDS corrects the other end: it adds the surplus
or the deficit of the sample to the shortest distance.)

Errors are half the width of a 95 % interval, from the differences between parts of a sample.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernel.rng import source
from ..numeric import Estimate, Floats, Ints, student_within
from .distances import DistanceCurve, Distances, Reuse, stack_distances
from .locality import LONGEST, conditional, likeliest, unconditional
from .popularity import Popularity, fit_zipf
from .ranked import Stretches, check_varied, link
from .sketch import EPSILON, GROUPS, LAST, Sketch, bin_of
from .stream_profile import Profile, Sampling, assembled, profile

ENOUGH = 400  # sampled keys within a stack distance, from which on the sample estimates it well

CurveKind = TypeVar("CurveKind", bound=DistanceCurve)
ShortCounts = tuple[Floats, Floats]  # rows by stretch and distance; rows examined by stretch


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


def short_depths(known: Stretches, rate: float) -> ShortCounts:
    """Count short stack distances in the stretches; `rate` is that of the sample of the keys."""
    fresh = [np.cumsum(one.before < 0) for one in known.each()]
    room = min(int(each[len(each) // 2]) for each in fresh)
    room = max(1, min(room, int(np.ceil(ENOUGH / rate))))
    parts = []
    for one, different in zip(known.each(), fresh):
        earlier: Ints = different - (one.before < 0)  # keys before each row in its stretch
        parts.append((stack_distances(one.key, one.before), np.asarray(earlier >= room)))
    return _counted(room, parts)


def short_gaps(known: Stretches, room: int) -> ShortCounts:
    """Count inter-arrival distances up to `room` in the stretches."""
    places = ((np.arange(len(one.key)), one.before) for one in known.each())
    return _counted(
        room, ((np.where(before >= 0, at - before, 0), at >= room) for at, before in places)
    )


def _counted(room: int, parts: Iterable[tuple[Ints, NDArray[np.bool_]]]) -> ShortCounts:
    """Count distances from 1 to `room`, of the rows for which they are certain."""
    found, examined = [], []
    for distance, certain in parts:
        short = certain & (distance > 0) & (distance <= room)
        found.append(np.bincount(distance[short], minlength=room + 1))
        examined.append(certain.sum())
    return np.array(found, np.float64), np.array(examined, np.float64)


def joined(
    kind: type[CurveKind],
    short: ShortCounts,
    all_keys: Floats,
    groups: Floats,
    end: Estimate,
    rows: int,
    rows_known: float,
    keys_known: float,
) -> CurveKind:
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


POPULAR = 10 * EPSILON  # share from which on the count of a key is that of the lossy counter
STANDARD = 1.96  # standard errors in half the width of a 95 % interval

# Distinct keys in ascending order and their counts in the stretches -> their counts in the stream.
Often = Callable[[Ints, Ints], Floats]


class CountedKeys(NamedTuple):
    """The popularity, and the errors of what follows from it."""

    seen: Popularity
    often: Often
    keys_error: float = 0.0  # of the number of different keys
    bits_error: float = 0.0  # of the entropy of one draw


def estimated(sketch: Sketch) -> CountedKeys:
    """Return the popularity from the popular keys, which were counted, and a sample of the others.

    A sampled key stands for 1 / rate keys that occur as often. The error of the exponent combines
    that of the fit and the differences between the groups of the sampled keys.
    """
    top, top_count = _popular(sketch)
    sample = sketch.keys
    rare = ~np.isin(sample.key, top)
    count, group = sample.count[rare], sample.group(sample.key[rare])
    whole = _fitted(top_count, count, 1 / sample.rate)
    each = [
        _fitted(top_count, count[group == number], GROUPS / sample.rate)
        for number in range(GROUPS)
        if (group == number).any() or len(top)
    ]
    exponent = np.array([one.exponent.value for one in each])
    bits = np.array([unconditional(one.count, one.alike) for one in each])
    value, error = whole.exponent
    error = float(np.hypot(error or 0.0, mean_error(exponent, sample.rate) / STANDARD))
    return CountedKeys(
        Popularity(whole.count, whole.alike, Estimate(value, error), whole.misfit),
        partial(_often, sketch),
        float(STANDARD * np.sqrt(len(count) * max(0.0, 1 - sample.rate)) / sample.rate),
        mean_error(bits, sample.rate),
    )


def _popular(sketch: Sketch) -> tuple[Ints, Ints]:
    assert sketch.popular is not None
    found = sketch.popular.frequent(POPULAR)
    return found.key, (found.lowest + found.highest) // 2


def _often(sketch: Sketch, key: Ints, in_stretches: Ints) -> Floats:
    """Return the counts of keys in the stream, given their counts in the stretches.

    The counts of popular and of sampled keys are known. Other keys are given the mean count of the
    sampled keys that occur equally often in the stretches.
    """
    sample = sketch.keys
    place = np.searchsorted(key, sample.key)
    there = np.flatnonzero(key[np.minimum(place, len(key) - 1)] == sample.key)
    place = place[there]
    keys = np.bincount(in_stretches[place], minlength=in_stretches.max() + 1)
    total = np.bincount(in_stretches[place], sample.count[there], minlength=len(keys))
    usual = np.arange(len(keys)) * sketch.seen / in_stretches.sum()
    guess = np.where(keys > 0, total / np.maximum(keys, 1), usual)[in_stretches]
    guess[place] = sample.count[there]
    top, top_count = _popular(sketch)
    mine = np.isin(key, top)
    order = np.argsort(top)
    guess[mine] = top_count[order][np.searchsorted(top[order], key[mine])]
    return guess


def _fitted(top: Ints, count: Ints, stands_for: float) -> Popularity:
    value, keys = np.unique(count, return_counts=True)
    # Ranks are rounded at the ends of steps, so that rounding errors do not add up.
    ends = np.rint(np.cumsum(keys[::-1]) * stands_for).astype(np.int64)
    value = np.append(np.sort(top)[::-1], value[::-1])
    alike = np.append(np.ones(len(top), np.int64), np.diff(ends, prepend=0))
    order = np.argsort(-value, kind="stable")
    order = order[alike[order] > 0]
    return fit_zipf(value[order], alike[order])


def as_stretches(parts: list[Ints], counted: CountedKeys, seed: int) -> Stretches:
    """Return consecutive keys as stretches, with the popularity of the keys in the stream.

    The ranks of equally popular keys are drawn at random.
    """
    starts = np.cumsum([0] + [len(part) for part in parts])
    key, number, here = np.unique(np.concatenate(parts), return_inverse=True, return_counts=True)
    seen, often = counted.seen, counted.often(key, here)
    ends = np.cumsum(seen.alike)
    step = np.minimum(np.searchsorted(-seen.count, -often), len(ends) - 1)
    rank = ends[step] - seen.alike[step] * source(seed).random(len(often)) + 0.5
    return link(number, starts, often / seen.total, rank, _mean_rank(seen))


def drawn(seen: Popularity, length: int, seed: int) -> Stretches:
    """Return independent draws from the popularity, as one stretch."""
    random = source(seed)
    rows = np.cumsum(seen.count * seen.alike)
    step = np.searchsorted(rows, random.integers(0, rows[-1], length), side="right")
    rank = np.cumsum(seen.alike)[step] - random.integers(0, seen.alike[step])
    value, first, number = np.unique(rank, return_index=True, return_inverse=True)
    share = seen.count[step[first]] / seen.total
    starts = np.array([0, length])
    return link(number, starts, share, value.astype(np.float64), _mean_rank(seen))


def _mean_rank(seen: Popularity) -> float:
    """Return the mean rank of all rows."""
    ends = np.cumsum(seen.alike)
    middle = ends - (seen.alike - 1) / 2
    return float((seen.count * seen.alike) @ middle / seen.total)


def describe(
    sketch: Sketch,
    *,
    h: int | None = None,
    name: str = "stream",
    counted: CountedKeys | None = None,
    per_second: float | None = None,
) -> Profile:
    """Return the profile of the stream that a sketch was made from.

    h: how many preceding rows the locality model looks back on; None: as many as are enough.
    counted: the popularity, if all keys were counted elsewhere.
    per_second: units of the times in a second, where that is known.
    """
    seed, bursts = sketch.keys.seed, sketch.arrivals.bursts()
    if bursts is not None and per_second is not None:
        bursts = bursts.in_seconds(per_second)
    if sketch.stretches.covers(sketch.seen):
        key = np.concatenate([sketch.keys.key[:0], *(each.key for each in sketch.stretches.held)])
        check_varied(len(np.unique(key)), sketch.seen)
        made = profile(key, h=h, seed=seed, name=name)
        return replace(made, bursts=bursts, skipped=sketch.skipped)
    counted = estimated(sketch) if counted is None else counted
    check_varied(counted.seen.keys, sketch.seen)
    known = as_stretches([each.key for each in sketch.stretches.useful()], counted, seed)
    shortest, rows = int(np.diff(known.starts).min()), len(known.key)
    part, keys = rows / sketch.seen, sketch.keys
    repeating = Estimate(1 - counted.seen.keys / sketch.seen, counted.keys_error / sketch.seen)
    common = repeating, sketch.seen, part, keys.rate
    short = short_gaps(known, min(sketch.near, shortest // 2))
    gaps = joined(Distances, short, keys.gap.sum(axis=0), keys.gap, *common)
    depths = joined(Reuse, short_depths(known, keys.rate), keys.depth[0], keys.depth[1:], *common)
    made = assembled(
        known,
        drawn(counted.seen, rows, seed),
        h,
        min(max(h or 0, LONGEST), shortest - 1),
        name=name,
        popularity=counted.seen,
        distances=gaps,
        permuted=random_order(counted.seen),
        reuse=depths,
        bursts=bursts,
    )
    b_error, bits_error = _errors(made, known, part)
    errors = Sampling(
        rate=keys.rate,
        stretches=len(known.starts) - 1,
        tuples=rows,
        keys_error=counted.keys_error,
        b_error=b_error,
        entropy_error=float(np.hypot(bits_error, made.likelihood.b * counted.bits_error)),
    )
    return replace(made, sampling=errors, skipped=sketch.skipped)


def _errors(made: Profile, known: Stretches, part: float) -> tuple[float, float]:
    """Return the errors of b and of the entropy, from fits to each stretch alone.

    Where b is near 1, a fit to few rows is biased. The bias shows in the mean of these fits, and is
    added; so is the rate that an event can have without occurring in n rows, 3 / n.
    """
    weights, bits = made.likelihood, made.entropy.popularity
    unseen = 3 * weights.h / len(known.key)
    fits = [likeliest(one, weights.h, weights) for one in known.each()]
    b = np.array([fit.b for fit in fits])
    entropy = np.array([conditional(one, fit, bits) for one, fit in zip(known.each(), fits)])
    b_bias, bias = b.mean() - weights.b, entropy.mean() - made.entropy.stream
    return (
        float(mean_error(b, part) + abs(b_bias) + unseen),
        float(mean_error(entropy, part) + abs(bias) + unseen * bits),
    )
