"""The held tuple with the lowest score, where scores move with time and no heap can be kept.

A small memory is scanned in full; of a large one a sample is drawn, so that the cost of an eviction
does not grow with the budget. Equal scores go by age, the older first, or by what is left of them.
"""

import numpy as np

from . import rng as rngs
from .jit import jit
from .policy import REFUSE

SCAN = 512  # up to so many members are all looked at
SAMPLE = 64  # so many are drawn from more
NOBODY = np.int64(-1)


@jit
def is_older(held, one, other, newcomer):
    """Tell whether `one` goes before `other`, both of equal score: a newcomer is the youngest."""
    return other == newcomer or (one != newcomer and held.at[one]["born"] < held.at[other]["born"])


@jit
def expires_sooner(held, one, other, newcomer):
    """Tell whether `one` dies of age before `other`, or at the same time but is older."""
    end, other_end = held.at[one]["deadline"], held.at[other]["deadline"]
    return end < other_end or (end == other_end and is_older(held, one, other, newcomer))


def make_choose(score, scan: int = SCAN, sample: int = SAMPLE, goes_first=is_older):
    """Return the hook `choose_victim` of states with `members`, `rng` and `always`.

    A newcomer that scores less than all of the held is refused, unless it `always` comes in.
    `goes_first(held, slot, other, newcomer)` decides between equal scores.
    """
    lowest_of = _make_lowest(score, scan, sample, goes_first)

    def choose_victim(state, held, newcomer, now):
        victim, _ = lowest_of(state, held, now, NOBODY if state.always[0] else newcomer)
        return REFUSE if victim == newcomer else victim

    choose_victim.__module__ = score.__module__  # tells `core.jit` whose source it is made of
    return jit(choose_victim)


def make_least(score, scan: int = SCAN, sample: int = SAMPLE):
    """Return `least(state, held, now) -> (slot, score)` for states with `members` and `rng`."""
    lowest_of = _make_lowest(score, scan, sample, is_older)

    @jit
    def least(state, held, now):
        return lowest_of(state, held, now, NOBODY)

    return least


def _make_lowest(score, scan, sample, goes_first):
    """Return what compares a newcomer, if there is one, with the held.

    One loop for all of them, since every call of `score` is compiled code of its own.
    """

    @jit
    def lowest_of(state, held, now, newcomer):
        members = state.members
        size = members.size[0]
        first = 0 if newcomer < 0 else -1
        best, lowest = NOBODY, np.inf
        for turn in range(first, size if size <= scan else sample):
            if turn < 0:
                slot = newcomer
            else:
                slot = np.int64(members.slot[turn if size <= scan else rngs.below(state.rng, size)])
            worth = score(state, held, slot, now)
            if (
                best < 0
                or worth < lowest
                or (worth == lowest and goes_first(held, slot, best, newcomer))
            ):
                best, lowest = slot, worth
        return best, lowest

    return lowest_of
