"""How often each key came, per join and side, in a table of bounded size.

A key has eight places, chosen by its hash. Where all eight are taken a new key takes the place of
the one of least weight: how often a key came on all sides, halved every so often, so that a key
that was popular long ago is forgotten in the end. The counts themselves do not fade, and a key that
stays has every arrival counted since it came in; a key that was forgotten and comes again is new.

A key and its counts lie side by side, and the eight places too: a look-up is one or two cache
misses, which is what counting costs. The table has its full size from the start; memory is taken as
places are used. Saved are the used places alone.

A `CountSketch` says how often a key came lately, and about: count-min, of small counters that age.
Source: Cormode, Muthukrishnan (2005), with the halving of Einziger, Friedman, Manes, "TinyLFU"
(2017).
"""

from typing import NamedTuple

import numpy as np

from .gains import gain
from .jit import jit
from .pages import zeros
from .rng import B32, mix
from .shape import Shape

WAYS = 8  # places of a key
FEWEST = 1024  # places at least, in each join,
KEYS = 4  # and for each row of the budget so many more
LIFE = 64  # after so many budgets of arrivals a weight is half of what it was
SHORTEST = 512  # rows that a budget is taken for in this at least
TICKS = 64  # in that time
ONE = 16  # what an arrival weighs: whole numbers, so that all machines agree
HEAVIEST = 2**31
KEY, WEIGHT, SEEN = 0, 1, 2  # columns of cell; a column per side follows SEEN
LOW_32 = np.int64(0xFFFFFFFF)
ROWS, HIGHEST = 4, 15
ROOM = 4  # counters in a row for each key: with fewer, keys that collide pass for frequent ones
SAMPLE = 10  # additions for each key between two halvings
SEEDS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)


class KeyCounts(NamedTuple):
    """Counts by key, and the legs that say which keys a tuple has."""

    cell: np.ndarray  # int64[joins, places, 2 + sides]: KEY, WEIGHT (0: free), SEEN per side
    arrived: np.ndarray  # int64[joins]: arrivals so far
    pace: np.ndarray  # int64[1]: arrivals in a tick
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    width: np.ndarray  # int64[joins]: sides of each join
    place: np.ndarray  # int64[n]: saved, the places in use, counted over all joins; else n is 0
    used: np.ndarray  # int64[n, 2 + sides]: the cells of these

    def compact(self) -> "KeyCounts":
        """Return the same counts without the places that are free, to be saved; few are not."""
        cell = self.cell.reshape(-1, self.cell.shape[2])
        place = np.flatnonzero(cell[:, WEIGHT])
        if 4 * len(place) >= 3 * len(cell):
            return self
        return self._replace(cell=self.cell[:, :0], place=place, used=cell[place])

    def expand(self) -> "KeyCounts":
        """Return counts that were saved, in a table with all places again."""
        self.cell.reshape(-1, self.cell.shape[2])[self.place] = self.used
        return self._replace(place=self.place[:0], used=self.used[:0])


def make_counts(shape: Shape, scale: int) -> KeyCounts:
    """Return counts of nothing, for a memory of about `scale` rows."""
    joins, columns = len(shape.joins), 2 + shape.sides
    places = -(-(FEWEST + KEYS * scale) // WAYS) * WAYS
    return KeyCounts(
        zeros((joins, places, columns), np.int64),
        np.zeros(joins, np.int64),
        np.array([LIFE * max(SHORTEST, scale) // TICKS]),
        shape.leg_table,
        np.array([len(join) for join in shape.joins], np.int64),
        np.zeros(0, np.int64),
        np.zeros((0, columns), np.int64),
    )


@jit
def _first(counts, key):
    """Return the first of the places of a key."""
    sets = np.uint64(counts.cell.shape[1] // WAYS)
    return WAYS * np.int64(((mix(np.uint64(key)) >> B32) * sets) >> B32)


@jit
def _find(counts, join, key):
    """Return where the counts of a key are; -1: it has none."""
    cell, first = counts.cell, _first(counts, key)
    for place in range(first, first + WAYS):
        if cell[join, place, KEY] == key and cell[join, place, WEIGHT] != 0:
            return place
        if cell[join, place, WEIGHT] == 0:
            break
    return np.int64(-1)


@jit
def _faded(weight, tick):
    """Return what a weight is now; it holds the tick of the last arrival, and its value then."""
    past = np.uint64(tick - (weight >> 32))
    halvings, part = np.int64(past // np.uint64(TICKS)), np.int64(past % np.uint64(TICKS))
    if halvings > 31:
        return np.int64(0)
    return (((weight & LOW_32) >> halvings) * (2 * TICKS - part)) // (2 * TICKS)


@jit
def _enter(counts, join, key, tick):
    """Return a place for a key that has none."""
    cell, first = counts.cell, _first(counts, key)
    best, lowest = first, np.int64(HEAVIEST + 1)
    for place in range(first, first + WAYS):
        weight = np.int64(-1)
        if cell[join, place, WEIGHT] != 0:
            weight = _faded(cell[join, place, WEIGHT], tick)
        if weight < lowest:
            best, lowest = place, weight
        if weight < 0:
            break
    cell[join, best, KEY] = key
    for column in range(WEIGHT, cell.shape[2]):
        cell[join, best, column] = 0
    return best


@jit
def tally(counts, held, slot):
    """Count the tuple in `slot` once on each of its legs."""
    stream = held.at[slot]["stream"]
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, counts.legs[stream, leg, 2]]
        tick = 1 + counts.arrived[join] // counts.pace[0]
        counts.arrived[join] += 1
        place = _find(counts, join, key)
        if place < 0:
            place = _enter(counts, join, key, tick)
        weight = _faded(counts.cell[join, place, WEIGHT], tick) + ONE
        counts.cell[join, place, WEIGHT] = (tick << 32) + min(weight, HEAVIEST)
        counts.cell[join, place, SEEN + side] += 1


@jit
def seen(counts, join, side, key):
    """Return how often a key came on one side of a join."""
    place = _find(counts, join, key)
    return np.int64(0) if place < 0 else counts.cell[join, place, SEEN + side]


def _over_other_sides(multiplies: bool):
    @jit
    def over_other_sides(counts, held, slot):
        stream = held.at[slot]["stream"]
        total = 0.0
        for leg in range(counts.legs.shape[1]):
            join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
            if join < 0:
                break
            place = _find(counts, join, held.key[slot, counts.legs[stream, leg, 2]])
            if place < 0:
                continue
            worth = gain(held, slot, leg) if multiplies else 0.0
            for other in range(counts.width[join]):
                if other != side:
                    count = counts.cell[join, place, SEEN + other]
                    worth = worth * count if multiplies else worth + count
            total += worth
        return total

    return over_other_sides


# What a tuple would have gained with all that came on the other sides: results. One factor per
# other side of a join, one summand per join, weighed by the goal (`gains.py`).
productivity = _over_other_sides(multiplies=True)
references = _over_other_sides(multiplies=False)  # how often its keys were asked for


class CountSketch(NamedTuple):
    """Counters, and how many additions they hold."""

    counter: np.ndarray  # uint8[ROWS, power of two], each up to HIGHEST
    added: np.ndarray  # int64[1]


def make_sketch(keys: int) -> CountSketch:
    """Return an empty sketch for about `keys` keys that matter."""
    width = ROOM * max(64, 1 << (keys - 1).bit_length())
    return CountSketch(zeros((ROWS, width), np.uint8), np.zeros(1, np.int64))


@jit
def _place(sketch, row, key):
    mask = np.uint64(sketch.counter.shape[1] - 1)
    return np.int64(mix(np.uint64(key) ^ SEEDS[row]) & mask)


@jit
def add(sketch, key):
    for row in range(ROWS):
        place = _place(sketch, row, key)
        if sketch.counter[row, place] < HIGHEST:
            sketch.counter[row, place] += 1
    sketch.added[0] += 1
    if sketch.added[0] >= SAMPLE * sketch.counter.shape[1] // ROOM:
        for row in range(ROWS):
            for place in range(sketch.counter.shape[1]):
                sketch.counter[row, place] >>= 1
        sketch.added[0] >>= 1


@jit
def estimate(sketch, key):
    least = np.int64(HIGHEST)
    for row in range(ROWS):
        count = np.int64(sketch.counter[row, _place(sketch, row, key)])
        if count < least:
            least = count
    return least
