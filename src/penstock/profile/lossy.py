"""Lossy counting: the keys that make up at least a given share of a stream, in little memory.

The stream is cut into buckets of w = 1 / epsilon items. A key that is not held is inserted with a
count of 1 and a slack: the number of earlier occurrences that may not have been counted, one for
each completed bucket. At the end of a bucket, keys with count + slack <= number of buckets are
removed. So after N items, for every key,

    count <= true count <= count + slack,    slack <= epsilon N,

where a key that is not held has count 0 and a slack of one per completed bucket.

Two counters are merged by adding counts and slacks key by key. The bounds hold for the sum: its
slack is at most epsilon N1 + epsilon N2. So parts of a stream can be counted separately.

Source: Manku, Motwani, "Approximate frequency counts over data streams" (2002); algorithm 2 of the
locality paper, which prints the current bucket as N / epsilon where epsilon N is meant.
Departures: `frequent` reports a key if count + slack, not count + epsilon N, reaches the support,
which misses no key either and reports fewer; merging is an addition.

**Epsilon.** Epsilon and support are taken as the decimals that they are written as. 0.1 means one
tenth, and not the nearest binary number: with that one, a key whose share is exactly the support
could be missed.

How many keys a counter holds follows from the popularity of the keys: the probability of each to
occur next, in any order. Let v be the count + slack - number of buckets of a key, 0 if it is not
held. Each bucket adds its occurrences to v and subtracts one, but v never falls below 0: a queue
that serves one customer per bucket. In the long run the queue serves as many customers as arrive,
so just before pruning the key is held in a share of min(1, popularity / epsilon) of all buckets,
however its occurrences are clustered. The sum over all keys is `steady_entries`.

Source: section 4.2 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006). Departure: its algorithm 3 does not terminate as
printed. Both of its branches set the upper end e1 to the epsilon that they are about to try, so
after the first step too low the step up, (e1 - e2) / 2, is 0, and the same epsilon is tried for
ever. `m_to_epsilon` uses bisection.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput, BadState
from ..kernel import keymap
from ..kernel.jit import jit, kernel
from ..kernel.options import at_least
from ..numeric import Floats

LARGEST_WIDTH = 1 << 40  # items in a bucket: no epsilon below 1e-12 is tried
NEGLIGIBLE = 1e-12


def share(name: str, value: Any, highest: str = "below 1") -> Fraction:
    """Return a share above 0; the `highest` is either "below 1" or "at most 1".

    >>> share("epsilon", 0.001)
    Fraction(1, 1000)
    """
    try:
        number = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):  # not a number, or infinite
        number = Fraction(0)
    if not 0 < number <= 1 or (highest == "below 1" and number == 1):
        raise BadInput(f"{name} must be above 0 and {highest}, got {value!r}")
    return number


def bucket_width(epsilon: Any) -> int:
    """Return the number of items in a bucket: w = 1 / epsilon, rounded up.

    >>> bucket_width(0.001), bucket_width(0.3), bucket_width(1 / 3)
    (1000, 4, 3)
    """
    exact = share("epsilon", epsilon)
    nearest = round(1 / exact)
    return nearest if float(exact) == 1 / nearest else math.ceil(1 / exact)


def check_support(support: Any, epsilon: Any) -> Fraction:
    """Return the support, which must be above epsilon: otherwise every key could be frequent."""
    wanted = share("support", support, "at most 1")
    if wanted <= share("epsilon", epsilon):
        raise BadInput(
            f"support must be above epsilon, got support {support} and epsilon {epsilon};"
            " a tenth of the support is a good epsilon"
        )
    return wanted


def steady_entries(popularity: ArrayLike, epsilon: float) -> float:
    """Return the mean number of keys held at the end of a bucket, before it is pruned.

    This is exact for a long stationary stream; a stream that has just started holds fewer.

    >>> steady_entries([0.5, 0.3, 0.1, 0.1], epsilon=0.2)
    3.0
    """
    chance = probabilities(popularity)
    return float(np.minimum(1.0, chance * bucket_width(epsilon)).sum())


def probabilities(popularity: ArrayLike) -> Floats:
    """Return the popularity of all keys as an array, if it sums to 1."""
    chance = np.asarray(popularity, np.float64)
    if chance.ndim != 1 or not len(chance) or not (chance >= 0).all():
        raise BadInput("popularity must be a list of probabilities, one for each key")
    if abs(chance.sum() - 1) > 1e-6:
        raise BadInput(f"popularity must sum to 1, got {chance.sum():g}")
    return chance


def m_to_epsilon(
    memory: int,
    entries: Callable[[float], float],
    support: float = 1.0,
    length: int = LARGEST_WIDTH,
) -> float:
    """Return the smallest epsilon with which lossy counting is expected to fit into a memory.

    memory: the largest number of keys held.
    entries: the number of keys held for an epsilon, such as `steady_entries`; it must not decrease
        as epsilon does.
    support: the answer lies below it.
    length: the number of items; an epsilon that makes counts exact is the smallest one tried.

    The answer is 1 / w for a whole number w of items in a bucket.

    >>> m_to_epsilon(3, lambda epsilon: steady_entries([0.5, 0.3, 0.1, 0.1], epsilon))
    0.2
    """
    at_least("memory", memory, 1)

    def fits(width: int) -> bool:
        return entries(1 / width) <= memory * (1 + NEGLIGIBLE)

    low = int(1 / share("support", support, "at most 1")) + 1  # so that epsilon is below it
    if not fits(low):
        raise BadInput(
            f"memory {memory} is too small for any epsilon below the support {support}: even"
            f" {1 / low:g} needs {entries(1 / low):,.0f} keys; give more memory or a higher support"
        )
    longest = max(low, length + 1)  # a bucket that never ends: no key is ever removed
    high = min(2 * low, longest)
    while fits(high):
        if high == longest:
            return 1 / longest
        low, high = high, min(2 * high, longest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1 / low


FORMAT = 1
SMALLEST, LARGEST = 32, 1 << 15  # entries that a new table has room for
COLUMNS = ("key", "count", "slack")  # of an entry
KEY, COUNT, SLACK = range(3)
SEEN, USED, PEAK, PRUNED = 0, 1, 2, 3  # places in totals


class Frequent(NamedTuple):
    """Keys and bounds of their counts, the most frequent key first."""

    key: np.ndarray  # int64[found]
    lowest: np.ndarray  # int64[found]: the smallest possible count; the estimate of the paper
    highest: np.ndarray  # int64[found]: the largest possible count


class LossyCounter:
    """Counts the keys of a stream with an error of at most `epsilon` times its length.

    epsilon: the error, above 0 and below 1; a tenth of the support asked for is a good choice.
        About 1 / epsilon keys are held, fewer where the keys are skewed: see `steady_entries`.

    >>> counter = LossyCounter(epsilon=0.05)
    >>> counter.push([7] * 60 + list(range(100, 140)))
    >>> counter.frequent(support=0.5)
    Frequent(key=array([7]), lowest=array([60]), highest=array([60]))
    >>> counter.count(7), counter.seen, counter.held
    (60, 100, 1)
    """

    def __init__(self, epsilon: float | Fraction):
        self.width = bucket_width(epsilon)  # w in the paper
        self.epsilon = epsilon
        # Large enough for skewed keys, of which far fewer than 1 / epsilon are held.
        self._make_table(max(SMALLEST, min(self.width, LARGEST)))
        self._totals = np.zeros(4, np.int64)

    @property
    def seen(self) -> int:
        """The number of items counted so far: N."""
        return int(self._totals[SEEN])

    @property
    def held(self) -> int:
        """The number of keys held now."""
        return int(self._totals[USED])

    @property
    def peak(self) -> int:
        """The largest number of keys held so far."""
        return int(self._totals[PEAK])

    @property
    def peak_pruned(self) -> int:
        """The largest number of keys held after a bucket was pruned."""
        return int(self._totals[PRUNED])

    @property
    def missing(self) -> int:
        """The largest possible count of a key that is not held."""
        return self.seen // self.width

    def push(self, keys: ArrayLike) -> None:
        """Count a batch of keys: 64-bit integers, in the order of the stream."""
        items, start = as_keys(keys), 0
        while True:
            start = _count(self._entry, self._buckets, self._totals, self.width, items, start)
            if start == len(items):
                return
            self._reserve(2 * len(self._entry))

    def count(self, key: int) -> int:
        """Return the count of a key: never too large, too small by at most epsilon N."""
        return self.bounds(key)[0]

    def bounds(self, key: int) -> tuple[int, int]:
        """Return the smallest and the largest possible count of a key."""
        place = keymap.seek(self._buckets, 0, self._entry[:, KEY], as_keys([key])[0])
        if place < 0:
            return 0, self.missing
        _, count, slack = self._entry[place].tolist()
        return count, count + slack

    def frequent(self, support: float | Fraction) -> Frequent:
        """Return the keys that may have a share of at least `support` of the stream.

        No key with that share is missing; none is returned whose share is below support - epsilon.
        """
        least = math.ceil(check_support(support, self.epsilon) * self.seen)
        found = self.most(self.held)
        return Frequent(*(column[found.highest >= least] for column in found))

    def most(self, keys: int) -> Frequent:
        """Return the keys with the highest counts, at most this many."""
        found = self._entries()
        found = found[np.lexsort((found[:, KEY], -found[:, COUNT]))][:keys]
        return Frequent(found[:, KEY], found[:, COUNT], found[:, COUNT] + found[:, SLACK])

    def merge(self, other: "LossyCounter") -> None:
        """Add the counts of another counter, as if its stream had been part of this one.

        >>> odd, even = LossyCounter(0.1), LossyCounter(0.1)
        >>> odd.push([1, 3, 1, 1])
        >>> even.push([2, 1])
        >>> odd.merge(even)
        >>> odd.count(1), odd.seen
        (4, 6)
        """
        if other.width != self.width:
            raise BadInput(
                f"counters to be merged must have the same epsilon, got {self.epsilon}"
                f" and {other.epsilon}"
            )
        theirs, totals = other._entries(), self._totals
        self._reserve(self.held + len(theirs))
        # A key that one of them does not hold may have occurred there without being counted.
        self._entries()[:, SLACK] += other.missing
        _add(self._entry, self._buckets, totals, theirs, self.missing, other.missing)
        totals[SEEN] += other.seen
        totals[PEAK] = max(self.peak, other.peak, self.held)
        _prune(self._entry, self._buckets, totals, self.missing)
        totals[PRUNED] = max(self.peak_pruned, other.peak_pruned, self.held)

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays, for `restore`."""
        entries = self._entries()
        entries = entries[np.argsort(entries[:, KEY])]
        return {
            "format": np.array([FORMAT], np.int64),
            "epsilon": np.array([str(self.epsilon)]),
            "totals": self._totals.copy(),
            **dict(zip(COLUMNS, entries.T.copy(), strict=True)),
        }

    @classmethod
    def restore(cls, saved: dict[str, np.ndarray]) -> "LossyCounter":
        """Return the counter that `save` was called on."""
        epsilon = saved_epsilon(saved, "totals", *COLUMNS)
        columns = (saved[name] for name in COLUMNS)
        counter = cls.of(epsilon, int(saved["totals"][SEEN]), *columns)
        counter._totals[:] = saved["totals"]
        return counter

    @classmethod
    def of(
        cls,
        epsilon: float | Fraction,
        seen: int,
        key: np.ndarray,
        count: np.ndarray,
        slack: np.ndarray,
    ) -> "LossyCounter":
        """Return a counter that has counted `seen` items and holds these entries."""
        counter = cls(epsilon)
        counter._reserve(len(key))
        entries = np.stack((key, count, slack), axis=1)
        _add(counter._entry, counter._buckets, counter._totals, entries, 0, 0)
        counter._totals[:] = seen, len(key), len(key), len(key)
        return counter

    def _entries(self) -> np.ndarray:
        """Return the entries held, in any order: int64[held, 3]."""
        return self._entry[: self.held]

    def _make_table(self, room: int) -> None:
        self._entry = np.zeros((room, 3), np.int64)
        self._buckets = keymap.make_buckets(room)

    def _reserve(self, room: int) -> None:
        """Make room for at least this many entries."""
        held = self._entries()
        if room > len(self._entry):
            self._make_table(room)
            self._entry[: len(held)] = held
            keymap.fill(self._buckets, 0, held[:, KEY], np.arange(len(held)))


def saved_epsilon(saved: dict[str, np.ndarray], *names: str) -> float | Fraction:
    """Return the epsilon of a saved counter; reject what lacks an array, and another format."""
    lacking = {"format", "epsilon", *names} - set(saved)
    if lacking:
        raise BadState(f"a saved counter must have {', '.join(sorted(lacking))}; got none")
    if int(saved["format"][0]) != FORMAT:
        raise BadState(f"a saved counter must be of format {FORMAT}, got {saved['format'][0]}")
    epsilon = str(saved["epsilon"][0])
    return Fraction(epsilon) if "/" in epsilon else float(epsilon)


def as_keys(keys: ArrayLike) -> np.ndarray:
    """Return 64-bit integers as an array; refuse anything else."""
    items = np.asarray(keys)
    if items.size == 0:
        return np.zeros(0, np.int64)
    if items.ndim != 1 or items.dtype.kind not in "iu":
        raise BadInput(
            f"keys must be a list of integers, got {items.ndim} dimension(s) of {items.dtype};"
            " number other values first"
        )
    if items.dtype == np.uint64:  # the same bits: different keys stay different
        items = items.view(np.int64)
    return np.ascontiguousarray(items, np.int64)


@jit
def _find_or_insert(entry, buckets, totals, key, slack):
    """Return the place of a key; a new one has a count of 0 and this slack."""
    place = keymap.find(buckets, 0, entry[:, KEY], key)
    if place < 0:
        place = totals[USED]
        totals[USED] += 1
        entry[place, KEY], entry[place, COUNT], entry[place, SLACK] = key, 0, slack
        keymap.add(buckets, 0, key, place)
    return place


@kernel
def _count(entry, buckets, totals, width, keys, start):
    """Count keys until the table is full, and return the number of keys counted."""
    seen = totals[SEEN]
    full = seen // width  # completed buckets: b_current - 1
    left = width - seen % width
    i = start
    while i < len(keys) and totals[USED] < entry.shape[0]:
        entry[_find_or_insert(entry, buckets, totals, keys[i], full), COUNT] += 1
        i += 1
        left -= 1
        if left == 0:
            full += 1
            left = width
            totals[PEAK] = max(totals[PEAK], totals[USED])
            _drop_rare(entry, buckets, totals, full)
            totals[PRUNED] = max(totals[PRUNED], totals[USED])
    totals[SEEN] = seen + i - start
    totals[PEAK] = max(totals[PEAK], totals[USED])
    return i


@jit
def _drop_rare(entry, buckets, totals, full):
    """Remove the keys with count + slack <= full; the others move up in their order."""
    kept = 0
    for place in range(totals[USED]):
        if entry[place, COUNT] + entry[place, SLACK] > full:
            for column in range(3):
                entry[kept, column] = entry[place, column]
            kept += 1
    if kept < totals[USED]:
        totals[USED] = kept
        buckets[:] = keymap.EMPTY
        for place in range(kept):
            keymap.add(buckets, 0, entry[place, KEY], place)


@kernel
def _prune(entry, buckets, totals, full):
    _drop_rare(entry, buckets, totals, full)


@kernel
def _add(entry, buckets, totals, more, new, known):
    """Add counts and slacks; a new key has `new` more slack, a known one `known` less."""
    for i in range(len(more)):
        used = totals[USED]
        place = _find_or_insert(entry, buckets, totals, more[i, KEY], new)
        if totals[USED] == used:
            entry[place, SLACK] -= known
        entry[place, COUNT] += more[i, COUNT]
        entry[place, SLACK] += more[i, SLACK]
