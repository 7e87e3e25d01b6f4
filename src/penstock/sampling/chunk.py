"""What is taken from a chunk of a stream, wherever it is read: a few arrays instead of all rows.

A survey tells how much there is. The sketch answers with a plan: what to take. Chunks of tuples in
the order of time are read by the plan, anywhere, and the sketch takes in what was found.
"""

import io
import math
from typing import Any, NamedTuple

import numpy as np

from ..counting import LossyCounter
from ..numeric import Ints
from .clock import Clock, Times
from .keys import fold, hashes
from .runs import wanted

Arrays = dict[str, np.ndarray]


class Survey(NamedTuple):
    """How many rows there are, and from when to when."""

    rows: int = 0  # with a key and a time
    skipped: int = 0  # without one
    earliest: float | int = 0
    latest: float | int = 0
    tick: float | int = 0  # times are the earliest and whole multiples of this; 0: unknown

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
    """Return the survey of rows that came at these times, in any order."""
    if not len(times):
        return Survey(skipped=skipped)
    first, last = times.min(), times.max()
    if times.dtype.kind == "f":
        return Survey(len(times), skipped, float(first), float(last))
    tick = int(np.gcd.reduce(times - first))
    return Survey(len(times), skipped, int(first), int(last), tick)


class Plan(NamedTuple):
    """What to take from a chunk: plain values, which travel."""

    seed: int
    threshold: int  # keys whose hash is no higher are sampled
    near: int  # see `fold`
    length: int  # of a run
    stride: int  # from one run to the next
    origin: float | int  # of the bins of time
    width: float | int
    epsilon: float  # of the counts of popular keys; 0: they are not counted


def take(plan: Plan, key: Ints, time: Times, first: int) -> Arrays:
    """Return what the plan wants of tuples in the order of time; `first` is the place of the first.

    >>> plan = Plan(0, 2**64 - 1, near=9, length=2, stride=4, origin=0, width=10, epsilon=0)
    >>> found = take(plan, np.array([7, 8, 7, 9, 7]), np.array([0, 5, 11, 12, 40]), first=0)
    >>> {name: array.tolist() for name, array in found.items()}
    {'rows': [5], 'key': [7, 8, 7, 9, 7], 'place': [0, 1, 2, 3, 4], 'folded': [0, 0, 0, 0, 0],
     'run': [[0, 2], [4, 5]], 'run_key': [7, 8, 7], 'bin': [0, 1, 4], 'bin_count': [2, 2, 1]}
    """
    sampled = np.flatnonzero(hashes(key, plan.seed) <= np.uint64(plan.threshold))
    kept, folded = fold(key[sampled], sampled, plan.near)
    sampled = sampled[kept]
    pieces = wanted(first, len(key), plan.stride, plan.length)
    clock = Clock(most=0, origin=plan.origin, width=plan.width)
    places, counts = clock.bins_of(time)
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
    return found | _popular(plan, key)


def _popular(plan: Plan, key: Ints) -> Arrays:
    if not plan.epsilon:
        return {}
    counter = LossyCounter(plan.epsilon)
    counter.push(key)
    return {f"popular_{name}": array for name, array in counter.save().items()}


def popular_in(found: Arrays) -> LossyCounter:
    """Return the counter of the popular keys of a chunk."""
    mine = {name: array for name, array in found.items() if name.startswith("popular_")}
    return LossyCounter.restore({name.removeprefix("popular_"): a for name, a in mine.items()})


def pack(arrays: Arrays) -> bytes:
    """Return arrays as bytes."""
    target = io.BytesIO()
    np.savez(target, allow_pickle=False, **arrays)
    return target.getvalue()


def unpack(data: Any) -> Arrays:
    """Return the arrays that `pack` made bytes of."""
    with np.load(io.BytesIO(data), allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}
