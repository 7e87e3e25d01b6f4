"""Lossy counting: the keys that make up at least a given share of a stream, in little memory.

The stream is cut into buckets of w = 1 / epsilon items. A key that is not held enters with a count
of 1 and a slack: how often it may have come before, unseen or forgotten, which is once for every
bucket that is over. At the end of a bucket whoever has count + slack <= buckets so far is
forgotten. So after N items, for every key,

    count <= true count <= count + slack,    slack <= epsilon N,

where a key that is not held has count 0 and a slack of one per full bucket.

Two counters merge by adding counts and slacks, key by key. What is true of each then is true of the
sum: the slack is at most epsilon N1 + epsilon N2. So counts can be taken in parts and put together.

Source: Manku, Motwani, "Approximate frequency counts over data streams" (2002); algorithm 2 of the
locality paper, which prints the current bucket as N / epsilon where epsilon N is meant.
Departures: `frequent` reports a key if count + slack, not count + epsilon N, reaches the support,
which is as safe and reports fewer; merging is ours.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import jit, kernel
from ..core.rng import mix
from ..errors import BadInput, BadState
from .shares import bucket_width, check_support

FORMAT = 1
SMALLEST = 64  # cells
KEY, COUNT, SLACK = 0, 1, 2  # columns of cell; a COUNT of 0: free
SEEN, USED, PEAK, PRUNED = 0, 1, 2, 3  # places in totals


class Frequent(NamedTuple):
    """Keys and what is known of their counts, the most frequent first."""

    key: np.ndarray  # int64[found]
    lowest: np.ndarray  # int64[found]: it came at least so often; the estimate of the paper
    highest: np.ndarray  # int64[found]: and at most so often


class LossyCounter:
    """Counts the keys of a stream, wrong by at most `epsilon` times its length.

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
        # The table starts as large as skewed keys need it: 1 / epsilon keys at most half full.
        self._cell = _cells(min(2 * self.width, 1 << 16))
        self._totals = np.zeros(4, np.int64)

    @property
    def seen(self) -> int:
        """How many items came: N."""
        return int(self._totals[SEEN])

    @property
    def held(self) -> int:
        """How many keys are held now."""
        return int(self._totals[USED])

    @property
    def peak(self) -> int:
        """The most keys that were ever held."""
        return int(self._totals[PEAK])

    @property
    def peak_pruned(self) -> int:
        """The most keys that were held after a bucket had been pruned."""
        return int(self._totals[PRUNED])

    @property
    def missing(self) -> int:
        """How often a key that is not held can have come at most."""
        return self.seen // self.width

    def push(self, keys: Any) -> None:
        """Count a batch of keys: 64-bit integers, in the order of the stream."""
        items, start = _as_keys(keys), 0
        while True:
            start = _count(self._cell, self._totals, self.width, items, start)
            if start == len(items):
                return
            self._resize(2 * len(self._cell))

    def count(self, key: int) -> int:
        """Return how often a key came: never more than the truth, less by at most epsilon N."""
        return int(_look_up(self._cell, _as_keys([key])[0])[0])

    def bounds(self, key: int) -> tuple[int, int]:
        """Return how often a key came at least, and at most."""
        count, slack = _look_up(self._cell, _as_keys([key])[0])
        return int(count), int(count + slack) if count else self.missing

    def frequent(self, support: float | Fraction) -> Frequent:
        """Return the keys that may make up a share of `support` or more of the stream.

        None that does is left out; none is reported whose share is below support - epsilon.
        """
        wanted = check_support(support, self.epsilon)
        found = self._entries()
        found = found[found[:, COUNT] + found[:, SLACK] >= math.ceil(wanted * self.seen)]
        found = found[np.lexsort((found[:, KEY], -found[:, COUNT]))]
        return Frequent(found[:, KEY], found[:, COUNT], found[:, COUNT] + found[:, SLACK])

    def most(self, keys: int) -> Frequent:
        """Return the keys that came most often as far as is known, at most so many."""
        found = self._entries()
        found = found[np.lexsort((found[:, KEY], -found[:, COUNT]))][:keys]
        return Frequent(found[:, KEY], found[:, COUNT], found[:, COUNT] + found[:, SLACK])

    def merge(self, other: "LossyCounter") -> None:
        """Take in what another counter saw, as if its stream had been part of this one.

        >>> odd, even = LossyCounter(0.1), LossyCounter(0.1)
        >>> odd.push([1, 3, 1, 1])
        >>> even.push([2, 1])
        >>> odd.merge(even)
        >>> odd.count(1), odd.seen
        (4, 6)
        """
        if other.width != self.width:
            raise BadInput(
                f"counters that merge must have the same epsilon, got {self.epsilon}"
                f" and {other.epsilon}"
            )
        mine, theirs = self._entries(), other._entries()
        lacking = self.missing, other.missing
        self._reserve(len(mine) + len(theirs))
        # A key that one of them does not hold may have come to it unnoticed.
        self._cell[self._cell[:, COUNT] > 0, SLACK] += lacking[1]
        _add(self._cell, self._totals, theirs, lacking[0], lacking[1])
        totals = self._totals
        totals[SEEN] += other.seen
        totals[PEAK] = max(self.peak, other.peak, self.held)
        _prune(self._cell, totals, self.missing)
        totals[PRUNED] = max(self.peak_pruned, other.peak_pruned, self.held)

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened."""
        entries = self._entries()
        entries = entries[np.argsort(entries[:, KEY])]
        return {
            "format": np.array([FORMAT], np.int64),
            "epsilon": np.array([str(self.epsilon)]),
            "totals": self._totals.copy(),
            "key": entries[:, KEY].copy(),
            "count": entries[:, COUNT].copy(),
            "slack": entries[:, SLACK].copy(),
        }

    @classmethod
    def restore(cls, saved: dict[str, np.ndarray]) -> "LossyCounter":
        """Return a counter that goes on where `save` left off."""
        lacking = {"format", "epsilon", "totals", "key", "count", "slack"} - set(saved)
        if lacking:
            raise BadState(f"a saved counter must have {', '.join(sorted(lacking))}; it has not")
        if int(saved["format"][0]) != FORMAT:
            raise BadState(f"a saved counter must be of format {FORMAT}, got {saved['format'][0]}")
        epsilon = str(saved["epsilon"][0])
        counter = cls.of(
            Fraction(epsilon) if "/" in epsilon else float(epsilon),
            int(saved["totals"][SEEN]),
            *(saved[name] for name in ("key", "count", "slack")),
        )
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
        """Return a counter that has seen so many items and holds these entries."""
        counter = cls(epsilon)
        counter._reserve(len(key))
        _add(counter._cell, counter._totals, np.stack((key, count, slack), axis=1), 0, 0)
        counter._totals[:] = seen, len(key), len(key), len(key)
        return counter

    def _entries(self) -> np.ndarray:
        """Return what is held, in any order: int64[held, 3]."""
        return self._cell[self._cell[:, COUNT] > 0]

    def _reserve(self, entries: int) -> None:
        if 2 * entries > len(self._cell):
            self._resize(2 * entries)

    def _resize(self, wanted: int) -> None:
        entries, used = self._entries(), self.held
        self._cell = _cells(wanted)
        _add(self._cell, self._totals, entries, 0, 0)
        self._totals[USED] = used


def _cells(wanted: int) -> np.ndarray:
    return np.zeros((max(SMALLEST, 1 << (wanted - 1).bit_length()), 3), np.int64)


def _as_keys(keys: Any) -> np.ndarray:
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
def _home(cell, key):
    return np.int64(mix(np.uint64(key)) & np.uint64(cell.shape[0] - 1))


@jit
def _place(cell, key):
    """Return where `key` is, or where it would be."""
    mask = cell.shape[0] - 1
    place = _home(cell, key)
    while cell[place, COUNT] != 0 and cell[place, KEY] != key:
        place = (place + 1) & mask
    return place


@kernel
def _look_up(cell, key):
    """Return the count and the slack of a key."""
    place = _place(cell, key)
    return cell[place, COUNT], cell[place, SLACK]


@kernel
def _count(cell, totals, width, keys, start):
    """Count keys until all are counted or the table is half full, and return how many are."""
    seen, used = totals[SEEN], totals[USED]
    full = seen // width  # buckets that are over: b_current - 1
    left = width - seen % width
    most = cell.shape[0] // 2
    i = start
    while i < len(keys) and used < most:
        key = keys[i]
        i += 1
        place = _place(cell, key)
        if cell[place, COUNT] == 0:
            cell[place, KEY] = key
            cell[place, SLACK] = full
            used += 1
        cell[place, COUNT] += 1
        left -= 1
        if left == 0:
            full += 1
            left = width
            totals[PEAK] = max(totals[PEAK], used)
            totals[USED] = used
            _forget(cell, totals, full)
            used = totals[USED]
            totals[PRUNED] = max(totals[PRUNED], used)
    totals[SEEN] = seen + i - start
    totals[USED] = used
    totals[PEAK] = max(totals[PEAK], used)
    return i


@jit
def _forget(cell, totals, full):
    """Take out who has count + slack <= full."""
    for place in range(cell.shape[0]):
        # What moves into the freed cell is looked at too; it never comes from an earlier cell,
        # but for those that wrap round at the end, which were looked at before.
        while cell[place, COUNT] != 0 and cell[place, COUNT] + cell[place, SLACK] <= full:
            _take_out(cell, place)
            totals[USED] -= 1


@jit
def _take_out(cell, hole):
    """Free a cell; those behind it move back, so that nobody is cut off from its home."""
    mask = cell.shape[0] - 1
    place = hole
    while True:
        place = (place + 1) & mask
        if cell[place, COUNT] == 0:
            break
        home = _home(cell, cell[place, KEY])
        # It may move back into the hole unless its home lies cyclically after the hole.
        if (place - home) & mask >= (place - hole) & mask:
            for column in range(3):
                cell[hole, column] = cell[place, column]
            hole = place
    cell[hole, COUNT] = 0


@kernel
def _prune(cell, totals, full):
    _forget(cell, totals, full)


@kernel
def _add(cell, totals, entries, new, known):
    """Add counts and slacks; a new key has `new` more slack, a known one `known` less."""
    for i in range(len(entries)):
        place = _place(cell, entries[i, KEY])
        if cell[place, COUNT] == 0:
            cell[place, KEY] = entries[i, KEY]
            cell[place, SLACK] = new
            totals[USED] += 1
        else:
            cell[place, SLACK] -= known
        cell[place, COUNT] += entries[i, COUNT]
        cell[place, SLACK] += entries[i, SLACK]
