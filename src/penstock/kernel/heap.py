"""A min-heap over slots whose scores may change: O(log M) per change, the lowest on top.

Equal scores are ordered by `due`, where it is given, then by stamp, the lower first. Four children
per node: half as deep as a binary heap, and the children of a node lie side by side.
"""

from typing import NamedTuple

import numpy as np

from .jit import jit
from .pages import full, zeros

ABSENT = -1


class Heap(NamedTuple):
    """Nodes by position in the heap; positions by slot."""

    node: np.ndarray  # [room] of (score, due, stamp, slot)
    place: np.ndarray  # int32[capacity]: where a slot stands, or ABSENT
    size: np.ndarray  # int64[1]


def make_heap(capacity: int, dtype: type = np.float64, room: int | None = None) -> Heap:
    """Return an empty heap whose scores are of `dtype`, with room for all slots or for so many."""
    node = np.dtype([("score", dtype), ("due", np.int64), ("stamp", np.int64), ("slot", np.int64)])
    nodes = zeros(capacity if room is None else min(room, capacity), node)
    return Heap(nodes, full(capacity, ABSENT, np.int32), np.zeros(1, np.int64))


@jit
def lowest(heap):
    """Return the slot on top of a heap that is not empty."""
    return heap.node[0]["slot"]


@jit
def score_of(heap, slot):
    return heap.node[heap.place[slot]]["score"]


@jit
def _put(heap, place, score, due, stamp, slot):
    heap.node[place]["score"] = score
    heap.node[place]["due"] = due
    heap.node[place]["stamp"] = stamp
    heap.node[place]["slot"] = slot
    heap.place[slot] = place


@jit
def _before(heap, place, score, due, stamp):
    """Tell whether the node at `place` comes before (score, due, stamp)."""
    held = heap.node[place]["score"]
    if held != score:
        return held < score
    sooner = heap.node[place]["due"]
    return sooner < due or (sooner == due and heap.node[place]["stamp"] < stamp)


@jit
def _rise(heap, place, score, due, stamp, slot):
    while place > 0:
        parent = (place - 1) >> 2
        if _before(heap, parent, score, due, stamp):
            break
        above = heap.node[parent]
        _put(heap, place, above["score"], above["due"], above["stamp"], above["slot"])
        place = parent
    _put(heap, place, score, due, stamp, slot)


@jit
def _sink(heap, place, score, due, stamp, slot):
    size = heap.size[0]
    while True:
        child = (place << 2) + 1
        if child >= size:
            break
        best = child
        for other in range(child + 1, min(child + 4, size)):
            lowest = heap.node[best]
            if _before(heap, other, lowest["score"], lowest["due"], lowest["stamp"]):
                best = other
        if not _before(heap, best, score, due, stamp):
            break
        below = heap.node[best]
        _put(heap, place, below["score"], below["due"], below["stamp"], below["slot"])
        place = best
    _put(heap, place, score, due, stamp, slot)


@jit
def _place(heap, place, score, due, stamp, slot):
    """Put a node at a free place, and from there where it belongs."""
    if place > 0 and not _before(heap, (place - 1) >> 2, score, due, stamp):
        _rise(heap, place, score, due, stamp, slot)
    else:
        _sink(heap, place, score, due, stamp, slot)


@jit
def push(heap, slot, score, stamp, due=0):
    place = heap.size[0]
    heap.size[0] = place + 1
    _rise(heap, place, score, due, stamp, slot)


@jit
def change(heap, slot, score, stamp, due=0):
    """Give a slot that is in the heap another score and stamp."""
    _place(heap, np.int64(heap.place[slot]), score, due, stamp, slot)


@jit
def drop(heap, slot):
    """Take a slot that is in the heap out of it."""
    place = np.int64(heap.place[slot])
    heap.place[slot] = ABSENT
    last = heap.size[0] - 1
    heap.size[0] = last
    if place != last:  # the last node moves into the gap
        moved = heap.node[last]
        _place(heap, place, moved["score"], moved["due"], moved["stamp"], moved["slot"])
