"""RAND: whoever the dice name.

Every held tuple and the newcomer are equally likely to go. The yardstick that any knowledge must
beat.

Source: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003);
also the HEEB paper, section 8, and the CLOCK paper, section 3.1.
"""

from typing import NamedTuple

import numpy as np

from ..core import members as sets
from ..core import rng as rngs
from ..core.jit import jit
from ..core.members import Members
from ..core.policy import REFUSE, Policy, Setup
from .admission import COMPETE, admits_always


class RandState(NamedTuple):
    """The members to draw from and the dice."""

    members: Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never refused
    together: np.ndarray  # bool[1]: newcomers of one time are decided about at once
    drawn: np.ndarray  # int64[2]: the time of the last draw, and how many there were at it


def make_state(setup: Setup, admit: str = COMPETE) -> RandState:
    """Return an empty state; with `admit=always` only held tuples are drawn."""
    return RandState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("rand", admit),
        np.array([setup.together]),
        np.zeros(2, np.int64),
    )


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)


@jit
def on_remove(state, held, slot, now):
    sets.discard(state.members, slot)


@jit
def _newcomers(state, now):
    """Return how many newcomers compete: with those decided about before at the same time.

    So each of the held and of the newcomers is equally likely to stay, in whatever order they are
    asked for: reservoir sampling.
    """
    if not state.together[0]:
        return 1
    if state.drawn[0] != now or state.drawn[1] == 0:
        state.drawn[0] = now
        state.drawn[1] = 0
    state.drawn[1] += 1
    return state.drawn[1]


@jit
def choose_victim(state, held, newcomer, now):
    size = state.members.size[0]
    if state.always[0]:
        return state.members.slot[rngs.below(state.rng, size)]
    drawn = rngs.below(state.rng, size + _newcomers(state, now))
    return REFUSE if drawn >= size else state.members.slot[drawn]


RAND = Policy(
    "rand",
    "a random tuple goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    tracked=lambda state: int(state.members.size[0]),
)
