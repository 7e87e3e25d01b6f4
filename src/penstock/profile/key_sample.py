"""A sample of the keys: it contains all rows of a key, or none.

A key is sampled if its hash lies below a threshold. Among the sampled rows a stack distance is on
average `rate` times that in the stream, because that share of the keys in between is sampled too.
So 1 + (s - 1) / rate is an unbiased estimate from the distance s in the sample. Memory is needed
for the sampled keys only. If there are too many of them, the threshold is lowered; the keys that
remain were sampled from the start, so their counts are complete.

Hashes also divide the keys into `GROUPS` groups. Each group is a sample of its own, and the
differences between the groups show how large the error of the sample is.

The positions of rows are those in the stream, so inter-arrival distances, unlike stack distances,
are exact. Both are counted in bins that are narrow where distances are short: up to 128 every
distance has its own bin; above, each doubling has 64 bins, so that a bin is at most 1.6 % wide.

Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (FAST
2015). Departures: the key itself is not scaled up; `sampled_curves.py` corrects for the chance
selection of popular keys.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.rng import FIRST, SECOND, STEP
from ..numeric import Floats, Ints
from .distances import stack_distances
from .ranked import no_numbers, previous

GROUPS = 16
ALL = 2**64 - 1  # the threshold that samples every key
BITS = 6  # each doubling of the distance has 2 ** BITS bins
LONGEST = (1 << 48) - 1  # distance; longer ones are counted with it


def bin_of(distance: ArrayLike) -> Ints:
    """Return the bin of each distance.

    >>> bin_of([0, 1, 127, 128, 129, 130]).tolist()
    [0, 1, 127, 128, 128, 129]
    """
    whole = np.minimum(np.asarray(distance), LONGEST).astype(np.int64)
    shift = np.maximum(np.frexp(whole.astype(np.float64))[1].astype(np.int64) - BITS - 1, 0)
    return (shift << BITS) + (whole >> shift)


def _last_of_each_bin() -> Ints:
    number = np.arange(BINS)
    shift = np.maximum((number >> BITS) - 1, 0)
    return ((number - (shift << BITS) + 1) << shift) - 1


BINS = int(bin_of(LONGEST)) + 1
LAST = _last_of_each_bin()  # int64[BINS]: the longest distance of each bin


def binned(distance: Ints) -> Floats:
    """Return the number of distances in each bin."""
    return np.bincount(bin_of(distance), minlength=BINS).astype(np.float64)


def hashes(keys: Ints, seed: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each key, which depend only on the key and the seed."""
    word = keys.astype(np.int64).view(np.uint64) + np.uint64((seed + 1) * int(STEP) % 2**64)
    word = (word ^ (word >> np.uint64(30))) * FIRST
    word = (word ^ (word >> np.uint64(27))) * SECOND
    return word ^ (word >> np.uint64(31))


def threshold_for(rate: float) -> int:
    """Return the threshold that samples this share of all keys."""
    return min(ALL, int(rate * 2.0**64))


@dataclass(eq=False)
class KeySample:
    """The sampled keys, and the distances of their rows in bins."""

    seed: int
    most: int  # keys held
    threshold: int = ALL
    key: Ints = field(default_factory=no_numbers)  # from the least to the most recently seen
    last: Ints = field(default_factory=no_numbers)  # the position of its latest row
    count: Ints = field(default_factory=no_numbers)  # its number of rows
    depth: Floats = field(default_factory=lambda: np.zeros((1 + GROUPS, BINS)))  # all, each group
    gap: Floats = field(default_factory=lambda: np.zeros((GROUPS, BINS)))

    @property
    def rate(self) -> float:
        """The share of all keys that is sampled."""
        return (self.threshold + 1) / 2.0**64

    def push(self, key: Ints, place: Ints, folded: Ints) -> None:
        """Add sampled rows in the order of the stream.

        folded: the number of rows of the same key that were omitted just before each; see `fold`.
        """
        self._make_room(key)
        kept = hashes(key, self.seed) <= np.uint64(self.threshold)
        key, place, folded = key[kept], place[kept], folded[kept]
        held = len(self.key)
        keys, places = np.append(self.key, key), np.append(self.last, place)
        before = previous(keys)
        again = np.flatnonzero(before >= 0)  # never one of the keys held
        group = self.group(keys)
        self._add_depths(keys, before, again, group)
        far = again[folded[again - held] == 0]  # folded rows have short distances
        gaps = places[far] - places[before[far]]
        for number in range(GROUPS):
            self.gap[number] += binned(gaps[group[far] == number]) / self.rate
        self._remember(keys, places, np.append(self.count, 1 + folded))

    def _make_room(self, key: Ints) -> None:
        """Lower the threshold until at most `most` keys are held."""
        word = np.unique(hashes(np.append(self.key, key), self.seed))
        word = word[word <= np.uint64(self.threshold)]
        if len(word) > self.most:
            self.lower(int(word[self.most]) - 1)

    def lower(self, threshold: int) -> None:
        """Lower the threshold to this value, if it is higher."""
        self.threshold = min(self.threshold, threshold)
        kept = hashes(self.key, self.seed) <= np.uint64(self.threshold)
        self.key, self.last, self.count = self.key[kept], self.last[kept], self.count[kept]

    def group(self, keys: Ints) -> Ints:
        """Return the group of each key, from the low bits: the high ones decide the sampling."""
        return (hashes(keys, self.seed) % np.uint64(GROUPS)).astype(np.int64)

    def _add_depths(self, keys: Ints, before: Ints, again: Ints, group: Ints) -> None:
        # The keys held, in the order of their latest rows, stand for all earlier rows.
        depths = [(stack_distances(keys, before)[again], self.rate)]
        for number in range(GROUPS):
            depth = stack_distances(keys[group == number])
            depths.append((depth[depth > 0], self.rate / GROUPS))
        for number, (depth, rate) in enumerate(depths):
            scaled = np.rint(1 + (depth - 1) / rate).astype(np.int64)
            self.depth[number] += binned(scaled) / self.rate

    def _remember(self, keys: Ints, places: Ints, counts: Ints) -> None:
        value, first, number = np.unique(keys[::-1], return_index=True, return_inverse=True)
        total = np.bincount(number, counts[::-1]).astype(np.int64)
        last = len(keys) - 1 - first
        order = np.argsort(last)
        self.key, self.last, self.count = value[order], places[last[order]], total[order]


def fold(key: Ints, place: Ints, near: int) -> tuple[NDArray[np.bool_], Ints]:
    """Omit rows that only repeat their neighbours in the sample; return which are kept.

    Where a key occurs three times or more without another sampled key in between, at most `near`
    positions from one row to the next, the first and the last of these rows determine all stack
    distances. So a single very popular key cannot fill a sample. The second array is the number of
    rows that were omitted before each row that is kept.

    >>> kept, folded = fold(np.array([7, 7, 7, 7, 8, 7]), np.arange(6), near=9)
    >>> kept.tolist(), folded.tolist()
    ([True, False, False, True, True, True], [0, 2, 0, 0])
    """
    same = (np.diff(key) == 0) & (np.diff(place) <= near)
    repeats = np.zeros(len(key) + 1, bool)  # whether each row repeats the one before it
    repeats[1:-1] = same
    kept = ~(repeats[:-1] & repeats[1:])
    return kept, np.diff(np.flatnonzero(kept), prepend=-1) - 1
