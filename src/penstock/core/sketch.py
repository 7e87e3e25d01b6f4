"""A count-min sketch of small counters that ages: how often a key came, lately and about.

Source: Cormode, Muthukrishnan (2005), with the halving of Einziger, Friedman, Manes, "TinyLFU"
(2017).
"""

from typing import NamedTuple

import numpy as np

from . import rng as rngs
from .jit import jit
from .pages import zeros

ROWS, HIGHEST = 4, 15
ROOM = 4  # counters in a row for each key: with fewer, keys that collide pass for frequent ones
SAMPLE = 10  # additions for each key between two halvings
SEEDS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], np.uint64
)


class Sketch(NamedTuple):
    """Counters, and how many additions they hold."""

    counter: np.ndarray  # uint8[ROWS, power of two], each up to HIGHEST
    added: np.ndarray  # int64[1]


def make_sketch(keys: int) -> Sketch:
    """Return an empty sketch for about `keys` keys that matter."""
    width = ROOM * max(64, 1 << (keys - 1).bit_length())
    return Sketch(zeros((ROWS, width), np.uint8), np.zeros(1, np.int64))


@jit
def _place(sketch, row, key):
    mask = np.uint64(sketch.counter.shape[1] - 1)
    return np.int64(rngs.mix(np.uint64(key) ^ SEEDS[row]) & mask)


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
