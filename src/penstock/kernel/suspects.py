"""The held tuple with the lowest score, where scores move with time: few looks for each eviction.

The members of lowest score known, the *suspects*, stand first in the dense array of members, each
with the score of the last look at it. For an eviction a hand looks at the next few of all members,
in turns; one that scores less than a suspect changes places with the highest of them. Then the
lowest suspect is looked at again, and is evicted if it is still the lowest. So a dozen looks find
nearly what a look at all members would: a tuple that lost its worth is met by the hand and stays a
suspect until it is evicted or recovers.

Of equal scores the older is evicted first.
"""

from typing import NamedTuple

import numpy as np

from . import members as sets
from .jit import jit
from .members import Members, make_members
from .policy import REJECT

MOST = 8  # suspects
LOOKS = 8  # of the hand for each eviction
UNKNOWN = -np.inf  # the score of a suspect that must be looked at first


class Suspects(NamedTuple):
    """The members, those of lowest score first; their order depends only on what happened."""

    members: Members
    low: np.ndarray  # float64[MOST]: the scores of the suspects when they were last looked at
    hand: np.ndarray  # int64[1]: the place that was looked at last


def make_suspects(capacity: int) -> Suspects:
    """Return an empty set."""
    return Suspects(make_members(capacity), np.zeros(MOST), np.zeros(1, np.int64))


@jit
def add(suspects, slot):
    place = suspects.members.size[0]
    sets.add(suspects.members, slot)
    if place < MOST:
        suspects.low[place] = UNKNOWN


@jit
def discard(suspects, slot):
    place = suspects.members.place[slot]
    sets.discard(suspects.members, slot)
    if place < MOST:  # another member stands there now
        suspects.low[place] = UNKNOWN


def make_choose(score, announce):
    """Return the hook `choose_victim` of states with `suspects` and `always`.

    `announce(state, slot)` says that the score of a slot will be asked for at the next eviction.
    A newcomer that scores less than the lowest suspect is rejected, unless it is `always` admitted.
    """

    @jit
    def choose_victim(state, held, newcomer, now):
        suspects, members = state.suspects, state.suspects.members
        size = members.size[0]
        last, offer = min(size, LOOKS), np.inf
        highest = _highest(suspects)
        look = 0 if state.always[0] else -1
        while True:  # ends: a suspect is looked at once, then its score is as it is
            place = np.int64(0)
            if look >= last:
                place = _lowest(suspects, held)
            elif look >= 0:
                place = _turn(suspects, size)
                if place >= LOOKS:
                    announce(state, np.int64(members.slot[place - LOOKS]))
            slot = newcomer if look < 0 else np.int64(members.slot[place])
            worth = score(state, held, slot, now)
            if look < 0:
                offer = worth
            else:
                highest = _see(suspects, place, worth, highest)
                if look >= last and place == _lowest(suspects, held):
                    return REJECT if offer < worth else slot
            look += 1

    return choose_victim


@jit
def _turn(suspects, size):
    """Return the place that the hand comes to next."""
    place = suspects.hand[0] - 1
    if place < 0 or place >= size:
        place = size - 1
    suspects.hand[0] = place
    return place


@jit
def _lowest(suspects, held):
    """Return the place of the suspect that is to go, as far as is known."""
    low, slot = suspects.low, suspects.members.slot
    best = np.int64(0)
    for place in range(1, min(MOST, suspects.members.size[0])):
        if low[place] < low[best] or (
            low[place] == low[best] and held.at[slot[place]]["born"] < held.at[slot[best]]["born"]
        ):
            best = np.int64(place)
    return best


@jit
def _highest(suspects):
    """Return the place of the suspect that is suspected least."""
    best = 0
    for place in range(1, MOST):
        if suspects.low[place] > suspects.low[best]:
            best = place
    return best


@jit
def _see(suspects, place, worth, highest):
    """Take note of a score; one that is lower than the highest suspect's makes a suspect.

    Returns the highest suspect then: most looks change nothing, and a search for it costs much.
    """
    if place < MOST:
        suspects.low[place] = worth
        return _highest(suspects)
    if worth < suspects.low[highest]:
        suspects.low[highest] = worth
        sets.swap(suspects.members, place, highest)
        return _highest(suspects)
    return highest
