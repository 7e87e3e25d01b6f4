"""Doubly linked lists over slots, and a set of keys that forgets its oldest.

Appending, removal and neighbours are O(1). Several lists can share one `Order`, as long as a slot
is in at most one of them. The front is where a list was begun, the back is where it grows. A
`Ghost` is a set of bounded size of the keys evicted lately.
"""

from typing import NamedTuple

import numpy as np

from . import keymap
from .jit import jit
from .pages import full, make_stack, pop, push, zeros

NONE = -1
BEFORE, AFTER = 0, 1  # columns of link
FRONT, BACK, SIZE = 0, 1, 2  # columns of ends


class Order(NamedTuple):
    """Lists of slots, by the names of their ends."""

    link: np.ndarray  # int32[capacity, 2]: the neighbour towards the front, towards the back
    ends: np.ndarray  # int32[lists, 3]: first slot, last slot (or NONE), and how many there are


def make_order(capacity: int, lists: int = 1) -> Order:
    """Return `lists` empty lists."""
    ends = np.tile(np.array([NONE, NONE, 0], np.int32), (lists, 1))
    return Order(full((capacity, 2), NONE, np.int32), ends)


@jit
def front(order, which):
    return np.int64(order.ends[which, FRONT])


@jit
def size(order, which):
    return np.int64(order.ends[which, SIZE])


@jit
def push_back(order, which, slot):
    last = order.ends[which, BACK]
    order.link[slot, BEFORE] = last
    order.link[slot, AFTER] = NONE
    if last == NONE:
        order.ends[which, FRONT] = slot
    else:
        order.link[last, AFTER] = slot
    order.ends[which, BACK] = slot
    order.ends[which, SIZE] += 1


@jit
def unlink(order, which, slot):
    before = order.link[slot, BEFORE]
    after = order.link[slot, AFTER]
    if before == NONE:
        order.ends[which, FRONT] = after
    else:
        order.link[before, AFTER] = after
    if after == NONE:
        order.ends[which, BACK] = before
    else:
        order.link[after, BEFORE] = before
    order.ends[which, SIZE] -= 1


@jit
def move_to_back(order, which, slot):
    if order.ends[which, BACK] != slot:
        unlink(order, which, slot)
        push_back(order, which, slot)


class Ghost(NamedTuple):
    """Entries by number, in the order in which they were (last) remembered."""

    buckets: np.ndarray  # int64[1, power of two]: see keymap
    key: np.ndarray  # int64[entries]
    order: Order
    unused: np.ndarray  # int32[entries + 1]: a stack of free entries


def make_ghost(entries: int) -> Ghost:
    """Return a set that remembers up to `entries` keys."""
    return Ghost(
        keymap.make_buckets(entries),
        zeros(entries, np.int64),
        make_order(entries),
        make_stack(0, entries, entries),
    )


@jit
def _drop(ghost, entry):
    keymap.erase(ghost.buckets, 0, ghost.key[entry], entry)
    unlink(ghost.order, 0, entry)
    push(ghost.unused, entry)


@jit
def entry_of(ghost, key):
    """Return the number of a key's entry, or -1."""
    return np.int64(keymap.find(ghost.buckets, 0, ghost.key, key))


@jit
def remember(ghost, key):
    """Add a key as the newest; return the number of its entry."""
    entry = entry_of(ghost, key)
    if entry >= 0:
        move_to_back(ghost.order, 0, entry)
        return entry
    if ghost.unused[0] == 0:
        _drop(ghost, front(ghost.order, 0))
    entry = np.int64(pop(ghost.unused))
    ghost.key[entry] = key
    keymap.add(ghost.buckets, 0, key, entry)
    push_back(ghost.order, 0, entry)
    return entry


@jit
def shrink(ghost, most):
    """Drop the oldest keys until no more than `most` are left."""
    while size(ghost.order, 0) > most:
        _drop(ghost, front(ghost.order, 0))


@jit
def forget(ghost, key):
    """Drop a key; tell whether it was there."""
    entry = entry_of(ghost, key)
    if entry < 0:
        return False
    _drop(ghost, entry)
    return True
