"""The held tuple with the lowest score, where scores move with time and no heap can be kept.

A small memory is scanned in full; of a large one a sample is drawn, so that the cost of an eviction
does not grow with the budget. Equal scores go by age, the older first.
"""

import numpy as np

from . import rng as rngs
from .jit import jit

SCAN = 512  # up to so many members are all looked at
SAMPLE = 64  # so many are drawn from more


def make_least(score, scan: int = SCAN, sample: int = SAMPLE):
    """Return `least(state, held, now) -> (slot, score)` for states with `members` and `rng`."""

    @jit
    def least(state, held, now):
        members = state.members
        size = members.size[0]
        best, lowest = -1, np.inf
        for turn in range(size if size <= scan else sample):
            place = turn if size <= scan else rngs.below(state.rng, size)
            slot = members.slot[place]
            worth = score(state, held, slot, now)
            if (
                best < 0
                or worth < lowest
                or (worth == lowest and held.at[slot]["born"] < held.at[best]["born"])
            ):
                best, lowest = slot, worth
        return best, lowest

    return least
