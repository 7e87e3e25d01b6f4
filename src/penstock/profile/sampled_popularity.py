"""The popularity of all keys, estimated from some of them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..core.rng import source
from ..numeric import Estimate, Floats, Ints
from .entropy import unconditional
from .key_sample import GROUPS
from .popularity import Popularity, fit_zipf
from .ranked import Stretches, link
from .sampled_curves import mean_error
from .sketch import EPSILON, Sketch

POPULAR = 10 * EPSILON  # share from which on the count of a key is that of the lossy counter
STANDARD = 1.96  # standard errors in half the width of a 95 % interval

# Distinct keys in ascending order and their counts in the stretches -> their counts in the stream.
Often = Callable[[Ints, Ints], Floats]


class Counted(NamedTuple):
    """The popularity, and the errors of what follows from it."""

    seen: Popularity
    often: Often
    keys_error: float = 0.0  # of the number of different keys
    bits_error: float = 0.0  # of the entropy of one draw


def estimated(sketch: Sketch) -> Counted:
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
    return Counted(
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


def as_stretches(parts: list[Ints], counted: Counted, seed: int) -> Stretches:
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
