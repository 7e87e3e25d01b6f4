"""Who is held under a key: one list of slots per (join, side, key).

An entry stands for one key of one join and holds the newest slot of every side; each slot is
chained to the next older one. An entry lives exactly as long as somebody is held under it.
"""

from typing import NamedTuple

import numpy as np

from . import keymap, stack
from .jit import jit

NONE = -1
CHAIN = np.dtype([("entry", np.int32), ("newer", np.int32), ("older", np.int32)])


class Index(NamedTuple):
    """Entries by number, and how slots hang on them."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    key: np.ndarray  # int64[entries]
    head: np.ndarray  # int32[entries, sides + 1]: newest slot of each side or NONE; slots in all
    unused: np.ndarray  # int32[entries + 1]: a stack of free entries
    chain: np.ndarray  # CHAIN[capacity, legs]: how a slot hangs on its entry


def make_index(capacity: int, joins: int, sides: int, legs: int) -> Index:
    """Return an index for `capacity` slots, with nobody in it."""
    entries = capacity * legs
    head = np.full((entries, sides + 1), NONE, np.int32)
    head[:, sides] = 0
    return Index(
        keymap.make_buckets(entries, joins),
        np.zeros(entries, np.int64),
        head,
        stack.make_stack(0, entries, entries),
        np.full((capacity, legs), NONE, np.int32).astype(CHAIN),
    )


@jit
def find(index, join, key):
    """Return the entry of a key, or NONE if nobody is held under it."""
    return keymap.find(index.buckets, join, index.key, key)


@jit
def hang(index, join, side, leg, key, slot):
    """Make `slot` the newest of its side under `key`."""
    entry = keymap.find(index.buckets, join, index.key, key)
    if entry == NONE:
        entry = stack.pop(index.unused)
        index.key[entry] = key
        keymap.add(index.buckets, join, key, entry)
    older = index.head[entry, side]
    if older != NONE:
        index.chain[older, leg]["newer"] = slot
    index.head[entry, side] = slot
    index.head[entry, -1] += 1
    index.chain[slot, leg]["entry"] = entry
    index.chain[slot, leg]["newer"] = NONE
    index.chain[slot, leg]["older"] = older


@jit
def unhang(index, join, side, leg, slot):
    """Take `slot` out of its list; the last one out closes the entry."""
    entry = np.int64(index.chain[slot, leg]["entry"])
    newer = index.chain[slot, leg]["newer"]
    older = index.chain[slot, leg]["older"]
    if newer == NONE:
        index.head[entry, side] = older
    else:
        index.chain[newer, leg]["older"] = older
    if older != NONE:
        index.chain[older, leg]["newer"] = newer
    index.head[entry, -1] -= 1
    if index.head[entry, -1] == 0:
        keymap.erase(index.buckets, join, index.key[entry], entry)
        stack.push(index.unused, entry)
