"""The held slots as a dense array, for policies that draw at random or look at everybody.

The order of the array depends only on what was added and removed, never on slot numbers.
"""

from typing import NamedTuple

import numpy as np

from .jit import jit
from .pages import zeros


class Members(NamedTuple):
    """`slot[:size]` are the members; `place` finds a slot's position."""

    slot: np.ndarray  # int32[capacity]
    place: np.ndarray  # int32[capacity]
    size: np.ndarray  # int64[1]


def make_members(capacity: int) -> Members:
    """Return an empty set."""
    return Members(zeros(capacity, np.int32), zeros(capacity, np.int32), np.zeros(1, np.int64))


@jit
def add(members, slot):
    size = members.size[0]
    members.slot[size] = slot
    members.place[slot] = size
    members.size[0] = size + 1


@jit
def discard(members, slot):
    """Take `slot` out; the last member fills the gap."""
    size = members.size[0] - 1
    place = members.place[slot]
    last = members.slot[size]
    members.slot[place] = last
    members.place[last] = place
    members.size[0] = size


@jit
def swap(members, one, other):
    """Let the members at two places change places."""
    first, second = members.slot[one], members.slot[other]
    members.slot[one], members.slot[other] = second, first
    members.place[first], members.place[second] = other, one
