"""Doubly linked lists over slots: O(1) append, removal and neighbours.

Several lists can share one `Order`, as long as a slot is in at most one of them. The front is
where a list was begun, the back is where it grows.
"""

from typing import NamedTuple

import numpy as np

from .jit import jit
from .pages import full

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
