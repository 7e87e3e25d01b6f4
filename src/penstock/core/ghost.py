"""Keys lately evicted: a set of bounded size that forgets its oldest."""

from typing import NamedTuple

import numpy as np

from . import keymap, stack
from . import order as orders
from .jit import jit
from .order import Order
from .pages import zeros


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
        orders.make_order(entries),
        stack.make_stack(0, entries, entries),
    )


@jit
def _drop(ghost, entry):
    keymap.erase(ghost.buckets, 0, ghost.key[entry], entry)
    orders.unlink(ghost.order, 0, entry)
    stack.push(ghost.unused, entry)


@jit
def remember(ghost, key):
    entry = keymap.find(ghost.buckets, 0, ghost.key, key)
    if entry >= 0:
        orders.move_to_back(ghost.order, 0, entry)
        return
    if ghost.unused[0] == 0:
        _drop(ghost, orders.front(ghost.order, 0))
    entry = stack.pop(ghost.unused)
    ghost.key[entry] = key
    keymap.add(ghost.buckets, 0, key, entry)
    orders.push_back(ghost.order, 0, entry)


@jit
def shrink(ghost, most):
    """Drop the oldest keys until no more than `most` are left."""
    while orders.size(ghost.order, 0) > most:
        _drop(ghost, orders.front(ghost.order, 0))


@jit
def forget(ghost, key):
    """Drop a key; tell whether it was there."""
    entry = keymap.find(ghost.buckets, 0, ghost.key, key)
    if entry < 0:
        return False
    _drop(ghost, entry)
    return True
