"""The held tuple with the lowest score, where scores move with time and no heap can be kept.

A small memory is scanned in full; of a large one a sample is drawn, so that the cost of an eviction
does not grow with the budget. Equal scores go by age, the older first.
"""

import numpy as np

from . import rng as rngs
from .jit import jit

SCAN = 512  # up to so many members are all looked at
SAMPLE = 64  # so many are drawn from more


def make_least(score, scan: int = SCAN, sample: int = SAMPLE, newcomers: bool = False):
    """Return `least(state, held, now) -> (slot, score)` for states with `members` and `rng`.

    With `newcomers`: `least(state, held, now, newcomer)`, which compares the newcomer too (unless
    it is -1); at an equal score it stays. One loop for all, since every call of `score` is
    compiled code of its own.
    """

    @jit
    def lowest_of(state, held, now, newcomer):
        members = state.members
        size = members.size[0]
        first = 0 if newcomer < 0 else -1
        best, lowest = -1, np.inf
        for turn in range(first, size if size <= scan else sample):
            if turn < 0:
                slot = newcomer
            else:
                slot = np.int64(members.slot[turn if size <= scan else rngs.below(state.rng, size)])
            worth = score(state, held, slot, now)
            if (
                best < 0
                or worth < lowest
                or (worth == lowest and (best == newcomer or _is_older(held, slot, best)))
            ):
                best, lowest = slot, worth
        return best, lowest

    if newcomers:
        return lowest_of

    @jit
    def least(state, held, now):
        return lowest_of(state, held, now, np.int64(-1))

    return least


@jit
def _is_older(held, one, other):
    return held.at[one]["born"] < held.at[other]["born"]
