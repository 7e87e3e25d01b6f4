"""The held slots as a dense array, and the one of lowest score among them.

For policies that draw at random, or whose scores move with time so that no heap can be kept. The
order of the array depends only on what was added and removed, never on slot numbers. A small memory
is scanned in full; of a large one a sample is drawn, so that the cost of an eviction does not grow
with the budget. Of equal scores the older is first, or the one that expires sooner.
"""

from typing import NamedTuple

import numpy as np

from . import rng as rngs
from .jit import jit
from .pages import zeros
from .policy import REJECT

SCAN = 512  # up to so many members are all looked at
SAMPLE = 64  # so many are drawn from more
NONE = np.int64(-1)  # in the place of a slot


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


@jit
def is_older(held, one, other, newcomer):
    """Tell whether `one` is evicted before `other`, of equal score: a newcomer is the youngest."""
    return other == newcomer or (one != newcomer and held.at[one]["born"] < held.at[other]["born"])


@jit
def expires_sooner(held, one, other, newcomer):
    """Tell whether `one` expires before `other`, or at the same time but is older."""
    end, other_end = held.at[one]["deadline"], held.at[other]["deadline"]
    return end < other_end or (end == other_end and is_older(held, one, other, newcomer))


def make_choose(score, scan: int = SCAN, sample: int = SAMPLE, is_first=is_older):
    """Return the hook `choose_victim` of states with `members`, `rng` and `always`.

    A newcomer that scores less than all held tuples is rejected, unless it is `always` admitted.
    `is_first(held, slot, other, newcomer)` decides between equal scores.
    """
    lowest_of = make_lowest(score, scan, sample, is_first)

    @jit
    def choose_victim(state, held, newcomer, now):
        victim, _ = lowest_of(state, held, now, NONE if state.always[0] else newcomer)
        return REJECT if victim == newcomer else victim

    return choose_victim


def make_lowest(score, scan: int = SCAN, sample: int = SAMPLE, is_first=is_older):
    """Return `lowest_of(state, held, now, newcomer) -> (slot, score)`; a newcomer of NONE is none.

    One loop for all of them, since every call of `score` is compiled code of its own.
    """

    @jit
    def lowest_of(state, held, now, newcomer):
        members = state.members
        size = members.size[0]
        first = 0 if newcomer < 0 else -1
        best, lowest = NONE, np.inf
        for turn in range(first, size if size <= scan else sample):
            if turn < 0:
                slot = newcomer
            else:
                slot = np.int64(members.slot[turn if size <= scan else rngs.below(state.rng, size)])
            worth = score(state, held, slot, now)
            if (
                best < 0
                or worth < lowest
                or (worth == lowest and is_first(held, slot, best, newcomer))
            ):
                best, lowest = slot, worth
        return best, lowest

    return lowest_of
