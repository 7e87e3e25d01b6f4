"""How often each key came lately, at several time scales, in a table of bounded size.

A scale is a half-life h, counted in arrivals of the line (one side of one join): an arrival that is
n arrivals old weighs 2^(-n / h), and with h = inf always 1. The weights of a key are summed when it
comes and fade when they are read, so a look at a key costs the same however long it was not seen.

Time goes in ticks, 64 to a half-life, so that fading is a look into one small table. Ticks are
those of the line and not of the key, or else a key that comes more than once a tick would never
fade.

An entry is meant to be small, since there are more keys than tuples: 16 bits a sum and 32 for the
number of the last arrival. A key that stays away for 2^32 arrivals looks new.

A sum is packed into five bits of exponent and eleven of the fraction: numbers from 1 to 2^31, to
one part in 2,048; 0 stands for no number at all. Whole numbers up to 4,096 are kept exactly. What
lies between two codes goes up or down by a chance that makes the mean right: to add 1 to a large
sum would otherwise change nothing, however often it is done.

A table that is full forgets a key for each new one: of the next few that no tuple holds the one
that weighs least, on all sides, at the longest half-life. So the number of its entry is all that a
holder needs to know.
"""

import math
from typing import NamedTuple

import numpy as np

from . import keymap
from .jit import jit
from .keymap import fetch
from .pages import copied, zeros
from .rng import B32, mix
from .shape import Shape

SCALES = 6
TICKS = 64  # in a half-life
LIVES = 40  # half-lives after which nothing is left
FADE = np.array([2.0 ** (-tick / TICKS) for tick in range(TICKS * LIVES)])
FEWEST = 1024  # keys that there is room for, whatever the budget
LONGEST = SCALES - 2  # the scale of the longest half-life that ends
LOOKED = 8  # keys looked at to forget one of them
LOW, HIGH, SUMS = 0, 1, 2  # columns of cell for a side: the number of the last arrival, the sums
LOW_32 = np.int64(0xFFFFFFFF)
PART = SUMS + SCALES
EVER = SUMS + SCALES - 1  # the column of the sum for ever: 0 says that the key never came
STEPS = 2048  # codes for each power of two
HIGHEST = 65_535
UNIT = np.array([0.0] + [2.0 ** (exponent - 12) for exponent in range(1, 32)])


class KeyRates(NamedTuple):
    """Keys by entry number; the keys of all joins share the entries."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    key: np.ndarray  # int64[entries]
    home: np.ndarray  # int16[entries]: which join a key belongs to
    cell: np.ndarray  # uint16[entries, (sides - first) * PART]
    holders: np.ndarray  # int32[entries]: how many hold a key
    used: np.ndarray  # int64[1]: entries in use
    hand: np.ndarray  # int64[1]: the next entry to be looked at
    most: np.ndarray  # int64[1]: the entries that there may ever be
    first: np.ndarray  # int64[1]: the first side that brings anything
    arrived: np.ndarray  # int64[joins, sides]: arrivals of each line
    ticks: np.ndarray  # float64[SCALES]: ticks that an arrival takes
    clock: np.ndarray  # float64[joins, sides, SCALES]: whole ticks so far
    mass: np.ndarray  # float64[joins, sides, SCALES]: the sum over all keys, known or not
    unit: np.ndarray  # float64[joins, sides, SCALES]: 1 / mass


def half_lives(longest: float) -> np.ndarray:
    """Return the scales: in equal ratios from one arrival to the longest, and for ever.

    >>> half_lives(2048).tolist()
    [1.0, 7.0, 45.0, 304.0, 2048.0, inf]
    """
    return np.append(np.geomspace(1, longest, SCALES - 1).round(), math.inf)


def make_rates(shape: Shape, most: int, lives: np.ndarray, first: int = 0) -> KeyRates:
    """Return an empty table for up to `most` keys; sides before the `first` bring nothing."""
    entries, joins, sides = min(FEWEST, most), len(shape.joins), shape.sides
    return KeyRates(
        keymap.make_buckets(entries, joins, tight=True),
        zeros(entries, np.int64),
        zeros(entries, np.int16),
        zeros((entries, (sides - first) * PART), np.uint16),
        zeros(entries, np.int32),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.array([most]),
        np.array([first]),
        np.zeros((joins, sides), np.int64),
        TICKS / lives,
        np.zeros((joins, sides, SCALES)),
        np.zeros((joins, sides, SCALES)),
        np.zeros((joins, sides, SCALES)),
    )


@jit
def pack(value, chance):
    """Return the code of a number of at least 1; `chance` is drawn from [0, 1), of 32 bits."""
    fraction, exponent = math.frexp(value)  # a fraction from 1/2 to 1
    code = np.int64(fraction * (2 * STEPS) + chance) - STEPS + exponent * STEPS
    return min(code, HIGHEST)


@jit
def unpack(code):
    """Return the number of a code; 0 of 0."""
    whole = np.int64(code)
    return (STEPS + (whole & (STEPS - 1))) * UNIT[whole >> 11]


def reserve(rates: KeyRates, keys: int) -> KeyRates:
    """Return the table with room for so many more keys, as far as it may grow."""
    entries = len(rates.key)
    needed = min(int(rates.most[0]), int(rates.used[0]) + keys)
    if needed <= entries:
        return rates
    room = min(int(rates.most[0]), max(needed, 2 * entries))
    buckets = keymap.make_buckets(room, len(rates.buckets), tight=True)
    keymap.rehash(rates.buckets, buckets)
    return rates._replace(
        buckets=buckets,
        key=copied(rates.key, room),
        home=copied(rates.home, room),
        cell=copied(rates.cell, room),
        holders=copied(rates.holders, room),
    )


@jit
def find(rates, join, key):
    """Return the entry of a key, or -1."""
    return keymap.find(rates.buckets, join, rates.key, key)


@jit
def announce(rates, entry):
    """Prefetch an entry that will be read soon."""
    fetch(rates.cell, entry, 0)
    fetch(rates.cell, entry, rates.cell.shape[1] - 1)


@jit
def _at(rates, side):
    """Return the first column of a side."""
    return (side - rates.first[0]) * PART


@jit
def came(rates, entry, side):
    """Tell whether a key has come on a side."""
    return side >= rates.first[0] and rates.cell[entry, _at(rates, side) + EVER] > 0


@jit
def _last(rates, entry, join, side):
    """Return the number of a key's last arrival."""
    low, high = (
        rates.cell[entry, _at(rates, side) + LOW],
        rates.cell[entry, _at(rates, side) + HIGH],
    )
    now = rates.arrived[join, side]
    return now - ((now - (np.int64(high) << 16) - np.int64(low)) & LOW_32)


@jit
def _fading(ticks):
    """Return what is left after so many ticks."""
    whole = np.uint64(ticks)  # never below 0: an index that might be costs a check
    return FADE[whole] if whole < len(FADE) else 0.0


@jit
def faded(rates, entry, join, side, scale):
    """Return the sum of a key at a scale, as of now."""
    then = np.floor(_last(rates, entry, join, side) * rates.ticks[scale])
    total = unpack(rates.cell[entry, _at(rates, side) + SUMS + scale])
    return total * _fading(rates.clock[join, side, scale] - then)


@jit
def frequency(rates, entry, join, side, scale):
    """Return the share of a key in the arrivals of a line, as a scale sees it."""
    return faded(rates, entry, join, side, scale) * rates.unit[join, side, scale]


@jit
def enter(rates, join, key):
    """Return an entry for a key that has none; -1: it is full, and those looked at are held."""
    entry = rates.used[0]
    if entry < len(rates.key):
        rates.used[0] = entry + 1
    else:
        entry = _lightest(rates)
        if entry < 0:
            return entry
        keymap.erase(rates.buckets, rates.home[entry], rates.key[entry], entry)
    rates.key[entry], rates.home[entry] = key, join
    keymap.add(rates.buckets, join, key, entry)
    for column in range(rates.cell.shape[1]):
        rates.cell[entry, column] = 0
    return entry


@jit
def _lightest(rates):
    """Return which of the next few entries is to be used again, or -1."""
    best, lowest = np.int64(-1), np.inf
    for _ in range(LOOKED):
        entry = rates.hand[0] % rates.used[0]
        rates.hand[0] = entry + 1
        total = 0.0
        for side in range(rates.arrived.shape[1]):
            if came(rates, entry, side):
                total += faded(rates, entry, rates.home[entry], side, LONGEST)
        if rates.holders[entry] == 0 and total < lowest:
            best, lowest = entry, total
    return best


@jit
def count(rates, entry, join, side):
    """Count one more arrival on a side, of the key of an entry; -1: of one that has none."""
    before = rates.arrived[join, side]
    now = before + 1
    chance = np.float64(mix(np.uint64(now)) >> B32) * 2.0**-32
    for scale in range(SCALES):
        tick = np.floor(now * rates.ticks[scale])
        left = _fading(tick - rates.clock[join, side, scale])
        rates.clock[join, side, scale] = tick
        mass = rates.mass[join, side, scale] * left + 1.0
        rates.mass[join, side, scale], rates.unit[join, side, scale] = mass, 1.0 / mass
        if entry >= 0:
            total = faded(rates, entry, join, side, scale) + 1.0
            rates.cell[entry, _at(rates, side) + SUMS + scale] = pack(total, chance)
    rates.arrived[join, side] = now
    if entry >= 0:
        rates.cell[entry, _at(rates, side) + LOW] = now & 0xFFFF
        rates.cell[entry, _at(rates, side) + HIGH] = (now >> 16) & 0xFFFF
