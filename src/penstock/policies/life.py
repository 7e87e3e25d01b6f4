"""LIFE: PROB times what remains of the window; the lowest product goes.

All scores fall as time goes by, each at its own rate, so no order of them lasts: a memory of up
to 512 tuples is scanned, of a larger one 64 random tuples are compared.

Source: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003).
"""

from typing import NamedTuple

import numpy as np

from ..core import keycounts
from ..core import members as sets
from ..core import rng as rngs
from ..core.jit import jit
from ..core.keycounts import KeyCounts
from ..core.least import make_choose
from ..core.members import Members
from ..core.policy import JOINING, Policy, Setup
from .admission import COMPETE, admits_always


class LifeState(NamedTuple):
    """Counts by key, the members to compare, and the dice for drawing some of them."""

    counts: KeyCounts
    members: Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(setup: Setup, admit: str = COMPETE) -> LifeState:
    """Return an empty state; with `admit=always` the newcomer is never refused."""
    return LifeState(
        keycounts.make_counts(setup.shape, setup.scale),
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("life", admit),
    )


@jit
def on_arrival(state, held, slot, now):
    keycounts.tally(state.counts, held, slot)


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)


@jit
def on_remove(state, held, slot, now):
    sets.discard(state.members, slot)


@jit
def score(state, held, slot, now):
    remaining = np.float64(held.at[slot]["deadline"]) - now + 1  # as integers FOREVER would wrap
    return keycounts.productivity(state.counts, held, slot) * remaining


choose_victim = make_choose(score)


LIFE = Policy(
    "life",
    "the tuple with the least (chance of a match x time left) goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    on_arrival=on_arrival,
    problems=(JOINING,),
    needs_window=True,
    tracked=lambda state: int(state.members.size[0]),
    cost=2,
)
