"""Slots on rungs of equal credit: raise by one, drop the lowest and find a percentile, all in O(1).

A rung is one value of credit that some slot has; rungs are linked in ascending order. What came to
a rung first leaves it first. A mark stands on the rung of a given percentile and is moved by the
few steps that each change asks for.
"""

from typing import NamedTuple

import numpy as np

from . import order as orders
from .jit import jit
from .order import NONE, Order
from .pages import full, make_stack, pop, push, zeros

BELOW, ABOVE = 0, 1


class Ladder(NamedTuple):
    """Rungs by number, and where each slot stands."""

    value: np.ndarray  # int64[capacity + 1]: the credit of a rung
    next: np.ndarray  # int32[capacity + 1, 2]: the rung below, the rung above
    slots: Order  # a list for each rung: the slots on it
    unused: np.ndarray  # int32[capacity + 2]: a stack of rungs that were used before
    opened: np.ndarray  # int64[1]: how many rungs were ever used
    rung: np.ndarray  # int32[capacity]: the rung a slot stands on
    size: np.ndarray  # int64[1]: slots in all
    low: np.ndarray  # int64[1]: the lowest rung, or NONE
    mark: np.ndarray  # int64[2]: the marked rung, and how many slots stand below it
    percentile: np.ndarray  # float64[1]


def make_ladder(capacity: int, percentile: float) -> Ladder:
    """Return an empty ladder."""
    rungs = capacity + 1
    return Ladder(
        zeros(rungs, np.int64),
        full((rungs, 2), NONE, np.int32),
        orders.make_order(capacity, rungs),
        make_stack(0, 0, rungs),
        np.zeros(1, np.int64),
        full(capacity, NONE, np.int32),
        np.zeros(1, np.int64),
        np.full(1, NONE, np.int64),
        np.array([NONE, 0], np.int64),
        np.array([percentile]),
    )


@jit
def _new_rung(ladder, value):
    # Used rungs are recycled first, then fresh ones are opened: so growing needs no bookkeeping.
    if ladder.unused[0] > 0:
        rung = pop(ladder.unused)
    else:
        rung = ladder.opened[0]
        ladder.opened[0] += 1
    ladder.value[rung] = value
    return rung


@jit
def _join_rungs(ladder, below, above):
    if below == NONE:
        ladder.low[0] = above
    else:
        ladder.next[below, ABOVE] = above
    if above != NONE:
        ladder.next[above, BELOW] = below


@jit
def _put_rung(ladder, rung, below, above):
    _join_rungs(ladder, below, rung)
    ladder.next[rung, ABOVE] = above
    ladder.next[rung, BELOW] = below
    if above != NONE:
        ladder.next[above, BELOW] = rung


@jit
def _crowd(ladder, rung):
    """Return how many slots stand on a rung."""
    return orders.size(ladder.slots, rung)


@jit
def _step_on(ladder, rung, slot):
    orders.push_back(ladder.slots, rung, slot)
    ladder.rung[slot] = rung


@jit
def _close_if_empty(ladder, rung):
    if _crowd(ladder, rung) > 0:
        return
    below, above = np.int64(ladder.next[rung, BELOW]), np.int64(ladder.next[rung, ABOVE])
    if ladder.mark[0] == rung:
        if above != NONE or below == NONE:
            ladder.mark[0] = above
        else:
            ladder.mark[0] = below
            ladder.mark[1] -= _crowd(ladder, below)
    _join_rungs(ladder, below, above)
    push(ladder.unused, rung)


@jit
def _move_mark(ladder):
    """Move the mark to the rung on which the percentile of the present slots stands."""
    size = ladder.size[0]
    rank = min(size - 1, np.int64(ladder.percentile[0] * size))
    rung, below = ladder.mark[0], ladder.mark[1]
    while rank < below:
        rung = np.int64(ladder.next[rung, BELOW])
        below -= _crowd(ladder, rung)
    while rank >= below + _crowd(ladder, rung):
        below += _crowd(ladder, rung)
        rung = np.int64(ladder.next[rung, ABOVE])
    ladder.mark[0] = rung
    ladder.mark[1] = below


@jit
def enter(ladder, slot):
    """Put a slot on the rung of the percentile; the first one of all on a rung of 0."""
    if ladder.size[0] == 0:
        rung = _new_rung(ladder, 0)
        _put_rung(ladder, rung, NONE, NONE)
        ladder.mark[0] = rung
        ladder.mark[1] = 0
    else:
        _move_mark(ladder)
        rung = ladder.mark[0]
    _step_on(ladder, rung, slot)
    ladder.size[0] += 1


@jit
def climb(ladder, slot):
    """Raise the credit of a slot by one."""
    rung = np.int64(ladder.rung[slot])
    above = np.int64(ladder.next[rung, ABOVE])
    value = ladder.value[rung] + 1
    if above == NONE or ladder.value[above] != value:
        target = _new_rung(ladder, value)
        _put_rung(ladder, target, rung, above)
    else:
        target = above
    orders.unlink(ladder.slots, rung, slot)
    _step_on(ladder, target, slot)
    if ladder.mark[0] == target:
        ladder.mark[1] -= 1
    _close_if_empty(ladder, rung)


@jit
def leave(ladder, slot):
    rung = np.int64(ladder.rung[slot])
    if ladder.value[rung] < ladder.value[ladder.mark[0]]:
        ladder.mark[1] -= 1
    orders.unlink(ladder.slots, rung, slot)
    ladder.size[0] -= 1
    _close_if_empty(ladder, rung)


@jit
def lowest(ladder):
    """Return the slot that has been longest on the lowest rung."""
    return orders.front(ladder.slots, ladder.low[0])
