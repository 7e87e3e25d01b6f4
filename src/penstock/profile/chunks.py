"""What a sketch takes from a chunk of a stream: a few arrays instead of all rows.

A survey says how many rows there are and when. The sketch answers with a plan, which says what to
take. Chunks of rows in the order of time are read by the plan on any machine, and the sketch adds
the result.
"""

import io
import math
from typing import Any, NamedTuple

import numpy as np

from ..numeric import Ints
from .bursts import Times, bins_of
from .key_sample import fold, hashes
from .lossy import LossyCounter

Arrays = dict[str, np.ndarray]


class Survey(NamedTuple):
    """The number of rows, and the range of their times."""

    rows: int = 0  # with a key and a time
    skipped: int = 0  # without one of them
    earliest: float | int = 0
    latest: float | int = 0
    tick: float | int = 0  # times are the earliest plus whole multiples of this; 0: unknown

    def plus(self, other: "Survey") -> "Survey":
        """Return the survey of both.

        >>> Survey(2, 0, 0, 6, 6).plus(Survey(3, 1, 4, 12, 8))
        Survey(rows=5, skipped=1, earliest=0, latest=12, tick=2)
        """
        skipped = self.skipped + other.skipped
        if not (self.rows and other.rows):
            return (self if self.rows else other)._replace(skipped=skipped)
        whole = isinstance(self.earliest, int)
        apart = int(abs(self.earliest - other.earliest)) if whole else 0
        return Survey(
            self.rows + other.rows,
            skipped,
            min(self.earliest, other.earliest),
            max(self.latest, other.latest),
            math.gcd(int(self.tick), int(other.tick), apart) if whole else 0,
        )


def survey(times: Times, skipped: int) -> Survey:
    """Return the survey of rows with these times, in any order."""
    if not len(times):
        return Survey(skipped=skipped)
    first, last = times.min(), times.max()
    if times.dtype.kind == "f":
        return Survey(len(times), skipped, float(first), float(last))
    tick = int(np.gcd.reduce(times - first))
    return Survey(len(times), skipped, int(first), int(last), tick)


class Plan(NamedTuple):
    """What to take from a chunk, as plain values that can be sent to another machine."""

    seed: int
    threshold: int  # keys with at most this hash are sampled
    near: int  # see `key_sample.fold`
    length: int  # of a stretch
    stride: int  # from the start of one stretch to the next
    origin: float | int  # of the bins of time
    width: float | int
    epsilon: float  # of the counts of popular keys; 0: they are not counted


def take(plan: Plan, key: Ints, time: Times, first: int) -> Arrays:
    """Return what the plan asks for; `first` is the position of the first row in the stream.

    >>> plan = Plan(0, 2**64 - 1, near=9, length=2, stride=4, origin=0, width=10, epsilon=0)
    >>> found = take(plan, np.array([7, 8, 7, 9, 7]), np.array([0, 5, 11, 12, 40]), first=0)
    >>> {name: array.tolist() for name, array in found.items()}
    {'rows': [5], 'key': [7, 8, 7, 9, 7], 'place': [0, 1, 2, 3, 4], 'folded': [0, 0, 0, 0, 0],
     'run': [[0, 2], [4, 5]], 'run_key': [7, 8, 7], 'bin': [0, 1, 4], 'bin_count': [2, 2, 1]}
    """
    sampled = np.flatnonzero(hashes(key, plan.seed) <= np.uint64(plan.threshold))
    kept, folded = fold(key[sampled], sampled, plan.near)
    sampled = sampled[kept]
    pieces = stretch_bounds(first, len(key), plan.stride, plan.length)
    places, counts = bins_of(time, plan.origin, plan.width)
    found = {
        "rows": np.array([len(key)]),
        "key": key[sampled],
        "place": sampled,
        "folded": folded,
        "run": np.array(pieces, np.int64).reshape(-1, 2),
        "run_key": np.concatenate([key[:0], *(key[start:end] for start, end in pieces)]),
        "bin": places,
        "bin_count": counts,
    }
    if plan.epsilon:
        counter = LossyCounter(plan.epsilon)
        counter.push(key)
        found |= with_prefix("popular_", counter.save())
    return found


def stretch_bounds(first: int, rows: int, stride: int, length: int) -> list[tuple[int, int]]:
    """Return the bounds of the rows that belong to stretches, if row 0 has the position `first`.

    >>> stretch_bounds(first=8, rows=20, stride=10, length=3)
    [(2, 5), (12, 15)]
    """
    starts = range(first // stride * stride - first, rows, stride)
    pieces = [(max(start, 0), min(start + length, rows)) for start in starts]
    return [(start, end) for start, end in pieces if start < end]


def with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the same arrays by longer names."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names have the prefix, by their short names."""
    mine = (name for name in arrays if name.startswith(prefix))
    return {name.removeprefix(prefix): arrays[name] for name in mine}


def popular_in(found: Arrays) -> LossyCounter:
    """Return the counter of the popular keys of a chunk."""
    return LossyCounter.restore(without_prefix("popular_", found))


def pack(arrays: Arrays) -> bytes:
    """Return arrays as bytes."""
    target = io.BytesIO()
    np.savez(target, allow_pickle=False, **arrays)
    return target.getvalue()


def unpack(data: Any) -> Arrays:
    """Return the arrays that were given to `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}
