"""The held tuple with the lowest score, where scores move with time: few looks for each eviction.

A shortlist of the members of lowest known score stands first in the dense array of members, each
with the score of the last look at it. For an eviction a hand looks at the next few of all members,
in turns; one that scores less than a member of the shortlist changes places with the highest there.
Then the lowest of the shortlist is looked at again, and is evicted if it is still the lowest. So a
dozen looks find nearly what a look at all members would: a tuple whose score fell is met by the
hand and stays on the shortlist until it is evicted or its score rises.

Of equal scores the older is evicted first.
"""

from typing import NamedTuple

import numpy as np

from . import members as sets
from .jit import jit
from .members import Members, make_members
from .policy import REJECT

MOST = 8  # members on the shortlist
LOOKS = 8  # of the hand for each eviction
UNKNOWN = -np.inf  # the score of a member of the shortlist that must be looked at first


class Shortlist(NamedTuple):
    """The members, those of lowest score first; their order depends only on what happened."""

    members: Members
    low: np.ndarray  # float64[MOST]: scores on the shortlist when last looked at
    hand: np.ndarray  # int64[1]: the place that was looked at last


def make_shortlist(capacity: int) -> Shortlist:
    """Return an empty set."""
    return Shortlist(make_members(capacity), np.zeros(MOST), np.zeros(1, np.int64))


@jit
def add(shortlist, slot):
    place = shortlist.members.size[0]
    sets.add(shortlist.members, slot)
    if place < MOST:
        shortlist.low[place] = UNKNOWN


@jit
def discard(shortlist, slot):
    place = shortlist.members.place[slot]
    sets.discard(shortlist.members, slot)
    if place < MOST:  # another member stands there now
        shortlist.low[place] = UNKNOWN


def make_choose(score, announce):
    """Return the hook `choose_victim` of states with `shortlist` and `always`.

    `announce(state, slot)` prefetches what the score of a slot needs at the next eviction.
    A newcomer that scores less than the lowest of the shortlist is rejected, unless it is `always`
    admitted.
    """

    @jit
    def choose_victim(state, held, newcomer, now):
        shortlist, members = state.shortlist, state.shortlist.members
        size = members.size[0]
        last, offer = min(size, LOOKS), np.inf
        highest = _highest(shortlist)
        look = 0 if state.always[0] else -1
        while True:  # ends: a member is looked at once, then its score is as it is
            place = np.int64(0)
            if look >= last:
                place = _lowest(shortlist, held)
            elif look >= 0:
                place = _turn(shortlist, size)
                if place >= LOOKS:
                    announce(state, np.int64(members.slot[place - LOOKS]))
            slot = newcomer if look < 0 else np.int64(members.slot[place])
            worth = score(state, held, slot, now)
            if look < 0:
                offer = worth
            else:
                highest = _see(shortlist, place, worth, highest)
                if look >= last and place == _lowest(shortlist, held):
                    return REJECT if offer < worth else slot
            look += 1

    return choose_victim


@jit
def _turn(shortlist, size):
    """Return the place that the hand comes to next."""
    place = shortlist.hand[0] - 1
    if place < 0 or place >= size:
        place = size - 1
    shortlist.hand[0] = place
    return place


@jit
def _lowest(shortlist, held):
    """Return the place of the lowest score on the shortlist, as far as is known."""
    low, slot = shortlist.low, shortlist.members.slot
    best = np.int64(0)
    for place in range(1, min(MOST, shortlist.members.size[0])):
        if low[place] < low[best] or (
            low[place] == low[best] and held.at[slot[place]]["born"] < held.at[slot[best]]["born"]
        ):
            best = np.int64(place)
    return best


@jit
def _highest(shortlist):
    """Return the place of the highest score on the shortlist."""
    best = 0
    for place in range(1, MOST):
        if shortlist.low[place] > shortlist.low[best]:
            best = place
    return best


@jit
def _see(shortlist, place, worth, highest):
    """Take note of a score; one that is lower than the highest of the shortlist enters it.

    Returns the place of the highest then: most looks change nothing, and to search it costs much.
    """
    if place < MOST:
        shortlist.low[place] = worth
        return _highest(shortlist)
    if worth < shortlist.low[highest]:
        shortlist.low[highest] = worth
        sets.swap(shortlist.members, place, highest)
        return _highest(shortlist)
    return highest
