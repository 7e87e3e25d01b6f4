"""A sample of the keys: all tuples of a key are in it, or none.

A key is sampled if its hash lies below a threshold. Among the sampled tuples a stack distance is,
in the mean, `rate` times what it is in the stream, because so many of the keys in between are
sampled too: from the distance s in the sample the estimate 1 + (s - 1) / rate is right in the mean.
It needs memory for the sampled keys only. Where these become too many the threshold falls; who is
sampled then was sampled all the time, so counts stay whole.

Hashes also put the keys into `GROUPS` groups. Each is a sample of its own, and how far the groups
are apart tells how far the sample may be off.

Places are those of the tuples in the stream, so the distances between them, unlike stack distances,
are known exactly.

Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (FAST
2015). Departures: the key itself is not scaled up; `curves.py` corrects for the luck with popular
keys.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.rng import FIRST, SECOND, STEP
from ..numeric import Ints
from ..profiling.links import previous
from ..profiling.reuse import stack_distances
from .bins import BINS, counted

GROUPS = 16
ALL = 2**64 - 1  # the threshold below which every key lies

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


def hashes(keys: Ints, seed: int) -> Words:
    """Return 64 random bits for each key, the same ones for the same key and seed."""
    word = keys.astype(np.int64).view(np.uint64) + np.uint64((seed + 1) * int(STEP) % 2**64)
    word = (word ^ (word >> np.uint64(30))) * FIRST
    word = (word ^ (word >> np.uint64(27))) * SECOND
    return word ^ (word >> np.uint64(31))


def threshold_for(rate: float) -> int:
    """Return the threshold that samples this part of all keys."""
    return min(ALL, int(rate * 2.0**64))


def _nothing() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class KeySample:
    """The sampled keys, and the distances of their tuples in bins."""

    seed: int
    most: int  # keys held
    threshold: int = ALL
    key: Ints = field(default_factory=_nothing)  # from the least recently seen to the most
    last: Ints = field(default_factory=_nothing)  # the place where it was seen
    count: Ints = field(default_factory=_nothing)  # how often
    depth: Floats = field(default_factory=lambda: np.zeros((1 + GROUPS, BINS)))  # all, each group
    gap: Floats = field(default_factory=lambda: np.zeros((GROUPS, BINS)))

    @property
    def rate(self) -> float:
        """The part of all keys that is sampled."""
        return (self.threshold + 1) / 2.0**64

    def push(self, key: Ints, place: Ints, folded: Ints) -> None:
        """Take in sampled tuples in their order.

        folded: how many tuples of the same key were left out just before each; see `fold`.
        """
        self._make_room(key)
        kept = hashes(key, self.seed) <= np.uint64(self.threshold)
        key, place, folded = key[kept], place[kept], folded[kept]
        held = len(self.key)
        keys, places = np.append(self.key, key), np.append(self.last, place)
        before = previous(keys)
        again = np.flatnonzero(before >= 0)  # none of these is among the held ones
        group = self._group(keys)
        self._add_depths(keys, before, again, group)
        far = again[folded[again - held] == 0]  # who was folded came again soon
        gaps = places[far] - places[before[far]]
        for number in range(GROUPS):
            self.gap[number] += counted(gaps[group[far] == number]) / self.rate
        self._remember(keys, places, np.append(self.count, 1 + folded))

    def _make_room(self, key: Ints) -> None:
        """Lower the threshold so far that no more keys than `most` will be held."""
        word = np.unique(hashes(np.append(self.key, key), self.seed))
        word = word[word <= np.uint64(self.threshold)]
        if len(word) > self.most:
            self.lower(int(word[self.most]) - 1)

    def lower(self, threshold: int) -> None:
        """Let the threshold fall to this, if it is higher."""
        self.threshold = min(self.threshold, threshold)
        kept = hashes(self.key, self.seed) <= np.uint64(self.threshold)
        self.key, self.last, self.count = self.key[kept], self.last[kept], self.count[kept]

    def group(self) -> Ints:
        """Return the group of every key that is held."""
        return self._group(self.key)

    def _group(self, keys: Ints) -> Ints:
        # The low bits: the high ones decide who is sampled.
        return (hashes(keys, self.seed) % np.uint64(GROUPS)).astype(np.int64)

    def _add_depths(self, keys: Ints, before: Ints, again: Ints, group: Ints) -> None:
        # The keys that are held, in the order of their last tuples, stand for all that came before.
        depth = stack_distances(keys, before)[again]
        self.depth[0] += counted(self._scaled(depth, self.rate)) / self.rate
        for number in range(GROUPS):
            mine = np.flatnonzero(group == number)
            depth = stack_distances(keys[mine])
            scaled = self._scaled(depth[depth > 0], self.rate / GROUPS)
            self.depth[1 + number] += counted(scaled) / self.rate

    @staticmethod
    def _scaled(depth: Ints, rate: float) -> Ints:
        return np.rint(1 + (depth - 1) / rate).astype(np.int64)

    def _remember(self, keys: Ints, places: Ints, counts: Ints) -> None:
        value, first, number = np.unique(keys[::-1], return_index=True, return_inverse=True)
        total = np.bincount(number, counts[::-1]).astype(np.int64)
        last = len(keys) - 1 - first
        order = np.argsort(last)
        self.key, self.last, self.count = value[order], places[last[order]], total[order]


def fold(key: Ints, place: Ints, near: int) -> tuple[NDArray[np.bool_], Ints]:
    """Leave out tuples that only repeat their neighbours in the sample, and say where how many.

    Where one key comes three times or more with no other sampled key in between, at most `near`
    places from one to the next, the first and the last of these tuples tell all about stack
    distances. So one very popular key cannot flood a sample.

    >>> kept, folded = fold(np.array([7, 7, 7, 7, 8, 7]), np.arange(6), near=9)
    >>> kept.tolist(), folded.tolist()
    ([True, False, False, True, True, True], [0, 2, 0, 0])
    """
    same = (np.diff(key) == 0) & (np.diff(place) <= near)
    repeats = np.zeros(len(key) + 1, bool)  # whether each tuple repeats the one before it
    repeats[1:-1] = same
    kept = ~(repeats[:-1] & repeats[1:])
    return kept, np.diff(np.flatnonzero(kept), prepend=-1) - 1
