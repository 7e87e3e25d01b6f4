"""Who dies when: slots in the order of their deadlines.

Tuples that come in the order of their deadlines wait in a queue: O(1) to enter, leave and expire.
A straggler, whose deadline lies before that of the last in the queue, goes to a heap: O(log of the
stragglers). Who never dies is in neither. Equal deadlines die in the order of birth, so what
happens depends on the tuples alone and not on where they waited.
"""

from typing import NamedTuple

import numpy as np

from . import heap
from .jit import jit
from .slots import FOREVER

NONE = -1
FIRST, LAST, SIZE = 0, 1, 2  # columns of ends


class Expiry(NamedTuple):
    """One queue per clock (one for all, or one per stream) and one heap of stragglers."""

    ends: np.ndarray  # int64[clocks, 3]: first and last slot of a queue, and how many wait in it
    late: heap.Heap


def make_expiry(capacity: int, clocks: int) -> Expiry:
    """Return empty queues for `capacity` slots."""
    ends = np.tile(np.array([NONE, NONE, 0], np.int64), (clocks, 1))
    return Expiry(ends, heap.make_heap(capacity, np.int64))


@jit
def enter(expiry, clock, held, slot):
    at, ends = held.at, expiry.ends
    deadline = at[slot]["deadline"]
    if deadline == FOREVER:
        return
    last = ends[clock, LAST]
    if last != NONE and at[last]["deadline"] > deadline:
        heap.push(expiry.late, slot, deadline, at[slot]["born"])
        return
    at[slot]["before"] = last
    at[slot]["after"] = NONE
    if last == NONE:
        ends[clock, FIRST] = slot
    else:
        at[last]["after"] = slot
    ends[clock, LAST] = slot
    ends[clock, SIZE] += 1


@jit
def leave(expiry, clock, held, slot):
    at, ends = held.at, expiry.ends
    if at[slot]["deadline"] == FOREVER:
        return
    if expiry.late.size[0] > 0 and expiry.late.place[slot] != heap.ABSENT:
        heap.drop(expiry.late, slot)
        return
    before, after = np.int64(at[slot]["before"]), np.int64(at[slot]["after"])
    if before == NONE:
        ends[clock, FIRST] = after
    else:
        at[before]["after"] = after
    if after == NONE:
        ends[clock, LAST] = before
    else:
        at[after]["before"] = before
    ends[clock, SIZE] -= 1


@jit
def next_dead(expiry, clock, held, now):
    """Return the slot with the earliest deadline before `now`, or NONE."""
    at, late = held.at, expiry.late
    first = expiry.ends[clock, FIRST]
    if first != NONE and at[first]["deadline"] >= now:
        first = NONE
    if late.size[0] > 0 and late.node[0]["score"] < now:
        deadline, born = late.node[0]["score"], late.node[0]["stamp"]
        if first == NONE or deadline < at[first]["deadline"]:
            return late.node[0]["slot"]
        if deadline == at[first]["deadline"] and born < at[first]["born"]:
            return late.node[0]["slot"]
    return first
