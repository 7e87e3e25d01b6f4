"""How often each key was seen, per join and side: exact counts of everything that ever arrived.

The table grows with the number of distinct keys, as the papers' PROB and perfect LFU ask. It is
what a policy may count on *besides* its slots, so it is not part of the budget.
"""

from typing import NamedTuple

import numpy as np

from . import keymap
from .jit import jit
from .shape import Shape


class KeyCounts(NamedTuple):
    """Counts by entry, and the legs that say which entries a tuple has."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    key: np.ndarray  # int64[entries]
    seen: np.ndarray  # int64[entries, sides]
    used: np.ndarray  # int64[1]: entries in use
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    width: np.ndarray  # int64[joins]: sides of each join


def make_counts(shape: Shape, entries: int = 1024) -> KeyCounts:
    """Return counts of nothing, with room for `entries` keys."""
    return KeyCounts(
        keymap.make_buckets(entries, len(shape.joins)),
        np.zeros(entries, np.int64),
        np.zeros((entries, shape.sides), np.int64),
        np.zeros(1, np.int64),
        shape.leg_table,
        np.array([len(join) for join in shape.joins], np.int64),
    )


def reserve(counts: KeyCounts, arrivals: int) -> KeyCounts:
    """Return the counts with room for the keys of `arrivals` more tuples."""
    entries = len(counts.key)
    needed = int(counts.used[0]) + arrivals * counts.legs.shape[1]
    if needed <= entries:
        return counts
    entries = max(needed, 2 * entries)
    buckets = keymap.make_buckets(entries, len(counts.buckets))
    keymap.rehash(counts.buckets, buckets)
    key = np.zeros(entries, np.int64)
    seen = np.zeros((entries, counts.seen.shape[1]), np.int64)
    key[: len(counts.key)] = counts.key
    seen[: len(counts.key)] = counts.seen
    return counts._replace(buckets=buckets, key=key, seen=seen)


@jit
def tally(counts, held, slot):
    """Count the tuple in `slot` once on each of its legs."""
    stream = held.at[slot]["stream"]
    for leg in range(counts.legs.shape[1]):
        join, side, attribute = counts.legs[stream, leg]
        if join < 0:
            break
        key = held.key[slot, attribute]
        entry = keymap.find(counts.buckets, join, counts.key, key)
        if entry < 0:
            entry = counts.used[0]
            counts.used[0] = entry + 1
            counts.key[entry] = key
            keymap.add(counts.buckets, join, key, entry)
        counts.seen[entry, side] += 1


@jit
def productivity(counts, held, slot):
    """Return how many results the tuple would have had with all that came on the other sides.

    One factor per other side of a join, one summand per join.
    """
    stream = held.at[slot]["stream"]
    total = 0.0
    for leg in range(counts.legs.shape[1]):
        join, side, attribute = counts.legs[stream, leg]
        if join < 0:
            break
        entry = keymap.find(counts.buckets, join, counts.key, held.key[slot, attribute])
        if entry >= 0:
            product = 1.0
            for other in range(counts.width[join]):
                if other != side:
                    product *= counts.seen[entry, other]
            total += product
    return total


@jit
def references(counts, held, slot):
    """Return how often the tuple's keys were asked for by the other sides."""
    stream = held.at[slot]["stream"]
    total = 0.0
    for leg in range(counts.legs.shape[1]):
        join, side, attribute = counts.legs[stream, leg]
        if join < 0:
            break
        entry = keymap.find(counts.buckets, join, counts.key, held.key[slot, attribute])
        if entry >= 0:
            for other in range(counts.width[join]):
                if other != side:
                    total += counts.seen[entry, other]
    return total
