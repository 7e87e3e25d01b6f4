"""Who is held under a key: one list of slots per (join, side, key).

An entry stands for one key of one join and holds the newest slot of every side; each slot is
chained to the next older one. An entry lives exactly as long as somebody is held under it.
"""

from typing import NamedTuple

import numpy as np

from . import keymap, stack
from .jit import jit
from .pages import full
from .slots import CHAIN

NONE = -1
KEY, HEAD, HELD = 0, 1, -1  # columns of entry: the key, newest slot by side, slots in all


class Index(NamedTuple):
    """Entries by number, and how slots hang on them."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    entry: np.ndarray  # int64[entries, sides + 2]: KEY, then a HEAD per side or NONE, then HELD
    unused: np.ndarray  # int32[entries + 1]: a stack of free entries
    chain: np.ndarray  # CHAIN[slots, legs]: how a slot hangs on its entry


def make_index(
    capacity: int, joins: int, sides: int, legs: int, chain: np.ndarray | None = None
) -> Index:
    """Return an index for `capacity` slots, with nobody in it.

    `chain` is where slots keep their places in the lists: with the rest of a tuple, if given.
    """
    entries = capacity * legs
    entry = full((entries, sides + 2), NONE, np.int64)
    entry[:, HELD] = 0
    return Index(
        keymap.make_buckets(entries, joins),
        entry,
        stack.make_stack(0, entries, entries),
        np.zeros((capacity, legs), CHAIN) if chain is None else chain,
    )


@jit
def find(index, join, key):
    """Return the entry of a key, or NONE if nobody is held under it."""
    return keymap.find(index.buckets, join, index.entry[:, KEY], key)


@jit
def head(index, entry, side):
    """Return the newest slot of a side, or NONE."""
    return index.entry[entry, HEAD + side]


@jit
def still(index, entry, key):
    """Return an entry that a key had a while ago, or NONE if it has been closed since.

    Only where there is one join, and the key was given no other entry.
    """
    if entry != NONE and index.entry[entry, HELD] > 0 and index.entry[entry, KEY] == key:
        return entry
    return np.int64(NONE)


@jit
def hang(index, join, side, leg, key, slot):
    """Make `slot` the newest of its side under `key`."""
    hang_at(index, find(index, join, key), join, side, leg, key, slot)


@jit
def hang_at(index, entry, join, side, leg, key, slot):
    """Do the same where the entry of the key is known, or NONE."""
    if entry == NONE:
        entry = stack.pop(index.unused)
        index.entry[entry, KEY] = key
        keymap.add(index.buckets, join, key, entry)
    older = index.entry[entry, HEAD + side]
    if older != NONE:
        index.chain[older, leg]["newer"] = slot
    index.entry[entry, HEAD + side] = slot
    index.entry[entry, HELD] += 1
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
        index.entry[entry, HEAD + side] = older
    else:
        index.chain[newer, leg]["older"] = older
    if older != NONE:
        index.chain[older, leg]["newer"] = newer
    index.entry[entry, HELD] -= 1
    if index.entry[entry, HELD] == 0:
        keymap.erase(index.buckets, join, index.entry[entry, KEY], entry)
        stack.push(index.unused, entry)
