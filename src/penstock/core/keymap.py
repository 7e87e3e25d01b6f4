"""Hash tables from 64-bit keys to entry numbers: open addressing, linear probing, real deletion.

The keys themselves live with the entries (`keys[entry]`); a bucket holds the entry number and 31
bits of the key's hash, so that a probe seldom touches a key that is not the one sought, and a
displaced bucket knows its home without looking at its key. Deletion shifts buckets back instead
of leaving tombstones: the cost of a look-up never depends on how many keys came and went.

Several tables of one size can be rows of the same array; a table is named by its row.
"""

import numpy as np

from .jit import jit, kernel
from .pages import full
from .prefetch import fetch

EMPTY = np.int64(-1)
SMALL = 16_384  # entries
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads consecutive keys
U33 = np.uint64(33)
LOW = np.int64(0xFFFFFFFF)


def make_buckets(
    entries: int, tables: int = 1, roomy: bool = False, tight: bool = False
) -> np.ndarray:
    """Return empty tables for `entries` keys, at most half full: int64[tables, power of two].

    A `tight` one is at most three quarters full.

    A `roomy` small table is kept nearly empty, so that the first probe tells and the processor
    foresees it: more than twice as fast where most keys are not found.
    """
    wanted = entries * (8 if roomy and entries <= SMALL else 2)
    if tight:
        wanted = entries + entries // 3 + 1
    return full((tables, max(8, 1 << (wanted - 1).bit_length())), EMPTY, np.int64)


@jit
def _print(key):
    """Return the upper 31 bits of the hash of `key`: a bucket is never negative."""
    word = np.uint64(key)
    return np.int64(((word ^ (word >> U33)) * MULTIPLIER) >> U33)


@jit
def find(buckets, table, keys, key):
    """Return the entry of `key`, or -1."""
    mask = buckets.shape[1] - 1
    sought = _print(key)
    place = sought & mask
    while True:
        bucket = buckets[table, place]
        if bucket == EMPTY:
            return -1
        if bucket >> 32 == sought:
            entry = bucket & LOW
            if keys[entry] == key:
                return entry
        place = (place + 1) & mask


@jit
def announce(buckets, table, key):
    """Say that `key` will be looked for soon."""
    fetch(buckets, table, _print(key) & (buckets.shape[1] - 1))


@jit
def add(buckets, table, key, entry):
    """Enter a key that is not in the table."""
    _settle(buckets, table, (_print(key) << 32) | entry)


@jit
def _settle(buckets, table, bucket):
    mask = buckets.shape[1] - 1
    place = (bucket >> 32) & mask
    while buckets[table, place] != EMPTY:
        place = (place + 1) & mask
    buckets[table, place] = bucket


@jit
def erase(buckets, table, key, entry):
    """Take a key that is in the table out of it."""
    mask = buckets.shape[1] - 1
    gone = (_print(key) << 32) | entry
    hole = (gone >> 32) & mask
    while buckets[table, hole] != gone:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        bucket = buckets[table, place]
        if bucket == EMPTY:
            break
        home = (bucket >> 32) & mask
        # A bucket may move back into the hole unless its home lies cyclically after the hole.
        if (place - home) & mask >= (place - hole) & mask:
            buckets[table, hole] = bucket
            hole = place
    buckets[table, hole] = EMPTY


@kernel
def rehash(old, new):
    """Move every bucket of `old` into the larger, empty tables `new`."""
    for table in range(old.shape[0]):
        for place in range(old.shape[1]):
            if old[table, place] != EMPTY:
                _settle(new, table, old[table, place])


@kernel
def fill(buckets, table, keys, entries):
    """Enter many keys at once."""
    for i in range(len(keys)):
        add(buckets, table, keys[i], entries[i])


@kernel
def seek(buckets, table, keys, key):
    """Return the entry of `key`, or -1: `find` for those who are not compiled."""
    return find(buckets, table, keys, key)
