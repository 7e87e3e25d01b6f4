"""The popularity of all keys, from what is known of some."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.rng import source
from ..models.record import Estimate
from ..numeric import Ints
from ..profiling.entropy import unconditional
from ..profiling.popularity import Popularity, fit_zipf
from .estimate import mean_error
from .keys import GROUPS
from .sketch import EPSILON, Sketch

POPULAR = 10 * EPSILON  # share from which on the count of a key is taken from the lossy counter
STANDARD = 1.96  # standard errors that half the width of an interval has

Floats = NDArray[np.float64]
# Keys, each once and in order, and how often they come in the runs -> how often in the stream.
Often = Callable[[Ints, Ints], Floats]


class Counted(NamedTuple):
    """The popularity, and how far what it says may be off."""

    seen: Popularity
    often: Often
    keys_error: float = 0.0  # of the number of different keys
    bits_error: float = 0.0  # of the entropy of one draw


def estimated(sketch: Sketch) -> Counted:
    """Return the popularity by the popular keys, which were counted, and a sample of the others.

    A sampled key stands for 1 / rate keys that came as often. The exponent's error is that of the
    fit and the spread of the exponents by each group of the sampled keys alone.
    """
    top, top_count = _popular(sketch)
    sample = sketch.keys
    rare = ~np.isin(sample.key, top)
    count, group = sample.count[rare], sample.group()[rare]
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


def _often(sketch: Sketch, key: Ints, in_runs: Ints) -> Floats:
    """Return how often keys come that come so often in the runs.

    Of the popular and of the sampled keys that is known. The others come as often as those sampled
    ones did, in the mean, that come as often in the runs.
    """
    sample = sketch.keys
    place = np.searchsorted(key, sample.key)
    there = np.flatnonzero(key[np.minimum(place, len(key) - 1)] == sample.key)
    place = place[there]
    keys = np.bincount(in_runs[place], minlength=in_runs.max() + 1)
    total = np.bincount(in_runs[place], sample.count[there], minlength=len(keys))
    usual = np.arange(len(keys)) * sketch.seen / in_runs.sum()
    guess = np.where(keys > 0, total / np.maximum(keys, 1), usual)[in_runs]
    guess[place] = sample.count[there]
    top, top_count = _popular(sketch)
    mine = np.isin(key, top)
    order = np.argsort(top)
    guess[mine] = top_count[order][np.searchsorted(top[order], key[mine])]
    return guess


def _fitted(top: Ints, count: Ints, stands_for: float) -> Popularity:
    value, keys = np.unique(count, return_counts=True)
    # Ranks are rounded where the steps end, so that rounding does not add up.
    ends = np.rint(np.cumsum(keys[::-1]) * stands_for).astype(np.int64)
    value = np.append(np.sort(top)[::-1], value[::-1])
    alike = np.append(np.ones(len(top), np.int64), np.diff(ends, prepend=0))
    order = np.argsort(-value, kind="stable")
    return fit_zipf(*_without_gaps(value[order], alike[order]))


def _without_gaps(value: Ints, alike: Ints) -> tuple[Ints, Ints]:
    return value[alike > 0], alike[alike > 0]


def ranks(seen: Popularity, count: Floats, seed: int) -> Floats:
    """Return the ranks, from 1, of keys that come so often; at random among the equally popular."""
    ends = np.cumsum(seen.alike)
    step = np.minimum(np.searchsorted(-seen.count, -count), len(ends) - 1)
    return ends[step] - seen.alike[step] * source(seed).random(len(count)) + 0.5


def mean_rank(seen: Popularity) -> float:
    """Return the mean of the ranks of all tuples."""
    ends = np.cumsum(seen.alike)
    middle = ends - (seen.alike - 1) / 2
    return float((seen.count * seen.alike) @ middle / seen.total)


def drawn(seen: Popularity, length: int, seed: int) -> tuple[Ints, Floats, Floats]:
    """Draw independent tuples: the number of each one's key; the keys' shares and ranks."""
    random = source(seed)
    tuples = np.cumsum(seen.count * seen.alike)
    step = np.searchsorted(tuples, random.integers(0, tuples[-1], length), side="right")
    rank = np.cumsum(seen.alike)[step] - random.integers(0, seen.alike[step])
    value, first, number = np.unique(rank, return_index=True, return_inverse=True)
    return number, seen.count[step[first]] / seen.total, value.astype(np.float64)
