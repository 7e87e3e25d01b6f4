"""The held tuple with the lowest score, where scores move with time: a few looks for each eviction.

The lowest of the last look, the *suspects*, are looked at again, and after them the next few of all
members in turns. So a few looks find almost what a look at everybody would: a tuple that lost
its worth is met by the hand, becomes a suspect, and stays one until it goes or recovers.

Suspects are the first members in their dense array; equal scores go by age, the older first.
"""

import numpy as np

from . import members as sets
from .jit import jit
from .least import NOBODY, is_older
from .policy import REFUSE

SUSPECTS = 8
FRESH = 16  # others looked at


def make_choose(score):
    """Return the hook `choose_victim` of states with `members`, `always`, `hand` and `low`.

    `hand` is int64[1], `low` float64[SUSPECTS]. A newcomer that scores less than all that were
    looked at is refused, unless it `always` comes in.
    """

    def choose_victim(state, held, newcomer, now):
        members, size = state.members, state.members.size[0]
        everybody = size <= SUSPECTS + FRESH
        best, lowest = NOBODY, np.inf
        for look in range(0 if state.always[0] else -1, min(size, SUSPECTS + FRESH)):
            place = np.int64(look)
            if look >= SUSPECTS and not everybody:
                place = _turn(state, size)
            slot = newcomer if look < 0 else np.int64(members.slot[place])
            worth = score(state, held, slot, now)
            if (
                best < 0
                or worth < lowest
                or (worth == lowest and is_older(held, slot, best, newcomer))
            ):
                best, lowest = slot, worth
            if not everybody and look >= 0:
                _suspect(state, look, place, worth)
        return REFUSE if best == newcomer else best

    choose_victim.__module__ = score.__module__  # tells `core.jit` whose source it is made of
    return jit(choose_victim)


@jit
def _turn(state, size):
    """Return the next place of one who is not a suspect."""
    place = state.hand[0] - 1
    if place < SUSPECTS or place >= size:
        place = size - 1
    state.hand[0] = place
    return place


@jit
def _suspect(state, look, place, worth):
    """Take note of a suspect's score; another one of lower score takes the place of the highest."""
    low = state.low
    if look < SUSPECTS:
        low[look] = worth
        return
    highest = 0
    for other in range(1, SUSPECTS):
        if low[other] > low[highest]:
            highest = other
    if worth < low[highest]:
        low[highest] = worth
        sets.swap(state.members, place, highest)
