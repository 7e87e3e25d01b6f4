"""How often each key was seen, per join and side: exact counts of everything that ever arrived.

A hash table by open addressing whose cells hold the key and its counts side by side: one cache miss
per look-up, which is what counting costs. Nothing is ever taken out, so the table grows with the
number of distinct keys, as the papers' PROB and perfect LFU ask. It is what a policy knows
*besides* its slots, so it is not part of the budget.
"""

from typing import NamedTuple

import numpy as np

from .gains import gain
from .jit import jit, kernel
from .rng import mix
from .shape import Shape

SMALLEST = 1024  # cells
KEY, TOTAL, SEEN = 0, 1, 2  # columns of cell; a column per side follows SEEN


class KeyCounts(NamedTuple):
    """Counts by key, and the legs that say which keys a tuple has."""

    cell: np.ndarray  # int64[joins, power of two, 2 + sides]: KEY, TOTAL (0: free), SEEN per side
    used: np.ndarray  # int64[joins]: cells in use
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    width: np.ndarray  # int64[joins]: sides of each join

    def compact(self) -> "KeyCounts":
        """Return the same counts in a table no larger than they need, to be saved."""
        return _resized(self, 2 * int(self.used.max()))


def make_counts(shape: Shape) -> KeyCounts:
    """Return counts of nothing."""
    return KeyCounts(
        np.zeros((len(shape.joins), SMALLEST, 2 + shape.sides), np.int64),
        np.zeros(len(shape.joins), np.int64),
        shape.leg_table,
        np.array([len(join) for join in shape.joins], np.int64),
    )


def reserve(counts: KeyCounts, arrivals: int) -> KeyCounts:
    """Return the counts with room for the keys of `arrivals` more tuples, at most half full."""
    needed = 2 * (int(counts.used.max()) + arrivals)
    return counts if needed <= counts.cell.shape[1] else _resized(counts, needed)


def _resized(counts: KeyCounts, needed: int) -> KeyCounts:
    """Return the counts in a table of the smallest size that is needed."""
    joins, size, columns = counts.cell.shape
    wanted = max(SMALLEST, 1 << max(0, needed - 1).bit_length())
    if wanted == size:
        return counts
    cell = np.zeros((joins, wanted, columns), np.int64)
    _move(counts.cell, cell)
    return counts._replace(cell=cell)


@jit
def _place(cell, join, key):
    """Return where the counts of `key` are, or where they would be."""
    mask = cell.shape[1] - 1
    place = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while cell[join, place, TOTAL] != 0 and cell[join, place, KEY] != key:
        place = (place + 1) & mask
    return place


@kernel
def _move(old, new):
    for join in range(old.shape[0]):
        for place in range(old.shape[1]):
            if old[join, place, TOTAL] != 0:
                target = _place(new, join, old[join, place, KEY])
                for column in range(old.shape[2]):
                    new[join, target, column] = old[join, place, column]


@jit
def tally(counts, held, slot):
    """Count the tuple in `slot` once on each of its legs."""
    stream = held.at[slot]["stream"]
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, counts.legs[stream, leg, 2]]
        place = _place(counts.cell, join, key)
        if counts.cell[join, place, TOTAL] == 0:
            counts.cell[join, place, KEY] = key
            counts.used[join] += 1
        counts.cell[join, place, TOTAL] += 1
        counts.cell[join, place, SEEN + side] += 1


@jit
def seen(counts, join, side, key):
    """Return how often a key came on one side of a join."""
    return counts.cell[join, _place(counts.cell, join, key), SEEN + side]


@jit
def productivity(counts, held, slot):
    """Return what the tuple would have gained with all that came on the other sides: results.

    One factor per other side of a join, one summand per join, weighed by the goal (`gains.py`).
    """
    stream = held.at[slot]["stream"]
    total = 0.0
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        place = _place(counts.cell, join, held.key[slot, counts.legs[stream, leg, 2]])
        product = gain(held, slot, leg)
        for other in range(counts.width[join]):
            if other != side:
                product *= counts.cell[join, place, SEEN + other]
        total += product
    return total


@jit
def references(counts, held, slot):
    """Return how often the tuple's keys were asked for by the other sides."""
    stream = held.at[slot]["stream"]
    total = 0.0
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        place = _place(counts.cell, join, held.key[slot, counts.legs[stream, leg, 2]])
        total += counts.cell[join, place, TOTAL] - counts.cell[join, place, SEEN + side]
    return total
