"""Slots in the order of (credit, stamp), with their ranks: a treap, O(log M) for everything.

A binary search tree by (credit, stamp) that is a heap by pseudo-random priorities, hence balanced
on average; every node knows the size of its subtree, hence ranks.

Source: Seidel, Aragon, "Randomized search trees" (Algorithmica 1996).
"""

from typing import NamedTuple

import numpy as np

from . import rng as rngs
from .jit import jit
from .pages import full, zeros

NONE = -1
LEFT, RIGHT, UP = 0, 1, 2


class Ranks(NamedTuple):
    """One node per slot."""

    credit: np.ndarray  # int64[capacity]
    stamp: np.ndarray  # int64[capacity]
    node: np.ndarray  # int32[capacity, 3]: left child, right child, parent
    weight: np.ndarray  # int32[capacity]: nodes in the subtree
    root: np.ndarray  # int64[1]


def make_ranks(capacity: int) -> Ranks:
    """Return an empty tree."""
    return Ranks(
        zeros(capacity, np.int64),
        zeros(capacity, np.int64),
        full((capacity, 3), NONE, np.int32),
        zeros(capacity, np.int32),
        np.full(1, NONE, np.int64),
    )


@jit
def _priority(ranks, slot):
    return rngs.mix(np.uint64(ranks.stamp[slot]))


@jit
def _weight(ranks, slot):
    return 0 if slot == NONE else ranks.weight[slot]


@jit
def _hook(ranks, parent, old, new):
    """Let `parent` point at `new` where it pointed at `old`."""
    if parent == NONE:
        ranks.root[0] = new
    elif ranks.node[parent, LEFT] == old:
        ranks.node[parent, LEFT] = new
    else:
        ranks.node[parent, RIGHT] = new
    if new != NONE:
        ranks.node[new, UP] = parent


@jit
def _weigh(ranks, slot):
    left, right = ranks.node[slot, LEFT], ranks.node[slot, RIGHT]
    ranks.weight[slot] = 1 + _weight(ranks, left) + _weight(ranks, right)


@jit
def _lift(ranks, slot):
    """Rotate a node above its parent."""
    parent = ranks.node[slot, UP]
    inner = RIGHT if ranks.node[parent, LEFT] == slot else LEFT
    between = ranks.node[slot, inner]
    _hook(ranks, ranks.node[parent, UP], parent, slot)
    ranks.node[parent, 1 - inner] = between
    if between != NONE:
        ranks.node[between, UP] = parent
    ranks.node[slot, inner] = parent
    ranks.node[parent, UP] = slot
    _weigh(ranks, parent)
    _weigh(ranks, slot)


@jit
def enter(ranks, slot, credit, stamp):
    ranks.credit[slot] = credit
    ranks.stamp[slot] = stamp
    ranks.weight[slot] = 1
    ranks.node[slot, LEFT] = NONE
    ranks.node[slot, RIGHT] = NONE
    ranks.node[slot, UP] = NONE
    parent, each, side = NONE, ranks.root[0], LEFT
    while each != NONE:
        ranks.weight[each] += 1
        parent = each
        before = credit < ranks.credit[each] or (
            credit == ranks.credit[each] and stamp < ranks.stamp[each]
        )
        side = LEFT if before else RIGHT
        each = np.int64(ranks.node[each, side])
    if parent == NONE:
        ranks.root[0] = slot
        return
    ranks.node[parent, side] = slot
    ranks.node[slot, UP] = parent
    while ranks.node[slot, UP] != NONE:
        if _priority(ranks, ranks.node[slot, UP]) >= _priority(ranks, slot):
            break
        _lift(ranks, slot)


@jit
def leave(ranks, slot):
    while True:  # rotate it down to a leaf
        left, right = ranks.node[slot, LEFT], ranks.node[slot, RIGHT]
        if left == NONE and right == NONE:
            break
        if right == NONE or (left != NONE and _priority(ranks, left) >= _priority(ranks, right)):
            _lift(ranks, left)
        else:
            _lift(ranks, right)
    parent = ranks.node[slot, UP]
    _hook(ranks, parent, slot, NONE)
    while parent != NONE:
        ranks.weight[parent] -= 1
        parent = ranks.node[parent, UP]


@jit
def size(ranks):
    return _weight(ranks, ranks.root[0])


@jit
def not_above(ranks, credit):
    """Return how many slots have at most this credit."""
    each, total = ranks.root[0], 0
    while each != NONE:
        if ranks.credit[each] <= credit:
            total += 1 + _weight(ranks, ranks.node[each, LEFT])
            each = np.int64(ranks.node[each, RIGHT])
        else:
            each = np.int64(ranks.node[each, LEFT])
    return total


@jit
def at(ranks, rank):
    """Return the slot with `rank` others before it."""
    each = ranks.root[0]
    while True:
        before = _weight(ranks, ranks.node[each, LEFT])
        if rank == before:
            return each
        if rank < before:
            each = np.int64(ranks.node[each, LEFT])
        else:
            rank -= before + 1
            each = np.int64(ranks.node[each, RIGHT])
