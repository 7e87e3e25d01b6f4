"""How often each key came lately, at several time scales, in a table of bounded size.

A scale is a half-life h, counted in arrivals of the line (one side of one join): an arrival that is n
arrivals old weighs 2^(-n / h), and with h = inf always 1. The weights of a key are summed when it comes
and fade when they are read, so a look at a key costs the same however long it was not seen.

Time goes in ticks, 64 to a half-life, so that fading is a look into one small table. Ticks are those
of the line and not of the key, or else a key that comes more than once a tick would never fade.

A table that is full forgets a key for each new one: whom, its user decides.
"""

import math
from typing import NamedTuple

import numpy as np

from . import keymap
from .jit import jit
from .shape import Shape

SCALES = 5
TICKS = 64  # in a half-life
LIVES = 40  # half-lives after which nothing is left
FADE = np.array([2.0 ** (-tick / TICKS) for tick in range(TICKS * LIVES)] + [0.0])
FEWEST = 1024  # keys that there is room for at first
LAST = 0  # column of cell: the number of the key's last arrival on a side, or 0
FIRST = 1  # the columns from here are the sums, one for each scale


class KeyRates(NamedTuple):
    """Keys by entry number; the keys of all joins share the entries."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    key: np.ndarray  # int64[entries]
    home: np.ndarray  # int64[entries]: which join a key belongs to
    cell: np.ndarray  # float64[entries, sides, 1 + SCALES]: LAST, then the sums
    used: np.ndarray  # int64[1]: entries in use
    most: np.ndarray  # int64[1]: the entries that there may ever be
    arrived: np.ndarray  # float64[joins, sides]: arrivals of each line
    ticks: np.ndarray  # float64[SCALES]: ticks that an arrival takes
    unit: np.ndarray  # float64[joins, sides, SCALES]: what a sum is multiplied by to be a frequency


def half_lives(longest: float) -> np.ndarray:
    """Return the scales: in equal ratios from a few arrivals to the longest, and for ever.

    >>> half_lives(2048).tolist()
    [4.0, 32.0, 256.0, 2048.0, inf]
    """
    return np.append(np.geomspace(4, longest, SCALES - 1).round(), math.inf)


def make_rates(shape: Shape, most: int, lives: np.ndarray) -> KeyRates:
    """Return an empty table for up to `most` keys."""
    entries, joins, sides = min(FEWEST, most), len(shape.joins), shape.sides
    return KeyRates(
        keymap.make_buckets(entries, joins),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
        np.zeros((entries, sides, FIRST + SCALES)),
        np.zeros(1, np.int64),
        np.array([most]),
        np.zeros((joins, sides)),
        TICKS / lives,
        np.broadcast_to([1 - 2.0 ** (-1 / life) for life in lives], (joins, sides, SCALES)).copy(),
    )


def reserve(rates: KeyRates, keys: int) -> KeyRates:
    """Return the table with room for so many more keys, as far as it may grow."""
    entries = len(rates.key)
    needed = min(int(rates.most[0]), int(rates.used[0]) + keys)
    if needed <= entries:
        return rates
    room = min(int(rates.most[0]), max(needed, 2 * entries))
    buckets = keymap.make_buckets(room, len(rates.buckets))
    keymap.rehash(rates.buckets, buckets)
    added = [(0, room - entries)]
    return rates._replace(
        buckets=buckets,
        key=np.pad(rates.key, added),
        home=np.pad(rates.home, added),
        cell=np.pad(rates.cell, [*added, (0, 0), (0, 0)]),
    )


@jit
def find(rates, join, key):
    """Return the entry of a key, or -1."""
    return keymap.find(rates.buckets, join, rates.key, key)


@jit
def is_full(rates):
    return rates.used[0] == len(rates.key)


@jit
def forget(rates, entry):
    """Free an entry; the last one moves into the gap, so that those in use lie side by side."""
    last = rates.used[0] - 1
    rates.used[0] = last
    keymap.erase(rates.buckets, rates.home[entry], rates.key[entry], entry)
    if entry != last:
        keymap.erase(rates.buckets, rates.home[last], rates.key[last], last)
        _settle(rates, entry, rates.home[last], rates.key[last])
        for side in range(rates.cell.shape[1]):
            for column in range(rates.cell.shape[2]):
                rates.cell[entry, side, column] = rates.cell[last, side, column]


@jit
def _settle(rates, entry, join, key):
    rates.key[entry], rates.home[entry] = key, join
    keymap.add(rates.buckets, join, key, entry)


@jit
def enter(rates, join, key):
    """Give a key that has none an entry of a table that is not full, and return it."""
    entry = rates.used[0]
    rates.used[0] = entry + 1
    _settle(rates, entry, join, key)
    for side in range(rates.cell.shape[1]):
        for column in range(rates.cell.shape[2]):
            rates.cell[entry, side, column] = 0.0
    return entry


@jit
def faded(rates, entry, join, side, scale):
    """Return the sum of a key at a scale, as of now."""
    pace, cell = rates.ticks[scale], rates.cell[entry, side]
    passed = np.floor(rates.arrived[join, side] * pace) - np.floor(cell[LAST] * pace)
    return cell[FIRST + scale] * FADE[np.int64(min(passed, np.float64(TICKS * LIVES)))]


@jit
def frequency(rates, entry, join, side, scale):
    """Return the share of a key in the arrivals of a line, as a scale sees it."""
    return faded(rates, entry, join, side, scale) * rates.unit[join, side, scale]


@jit
def count(rates, entry, join, side):
    """Count one more arrival of a key on a side."""
    for scale in range(SCALES):
        rates.cell[entry, side, FIRST + scale] = faded(rates, entry, join, side, scale) + 1.0
    rates.arrived[join, side] += 1.0
    rates.cell[entry, side, LAST] = rates.arrived[join, side]
    for scale in range(SCALES):
        if rates.ticks[scale] == 0.0:  # without fading a frequency is a share of all
            rates.unit[join, side, scale] = 1.0 / rates.arrived[join, side]
