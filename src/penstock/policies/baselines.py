"""RAND, FIFO and LRU: blind to the data, or nearly so; what any better policy must beat.

- RAND evicts a random tuple: every held one and the newcomer are equally likely.
- FIFO evicts the oldest tuple, as most stream processors do when they drop anything at all.
- LRU evicts the tuple that has gone longest without a match.

Sources: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003) for
RAND; the CLOCK paper, section 3.1, for all of them; the GDJ paper, section 5, for FIFO; the HEEB
paper, section 8, for RAND and for LRU as a cache.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import members as sets
from ..kernel import order as orders
from ..kernel import rng as rngs
from ..kernel.jit import jit
from ..kernel.policy import CACHING, JOINING, REJECT, Policy, Setup, Trial
from .shared import COMPETE, WITH_MEMBERS, WITH_ORDER, admits_always


class RandState(NamedTuple):
    """The members to draw from, and the generator."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected
    together: np.ndarray  # bool[1]: newcomers of one time are compared all at once
    drawn: np.ndarray  # int64[2]: the time of the last draw, and how many there were at it


def make_rand_state(setup: Setup, admit: str = COMPETE) -> RandState:
    """Return an empty state; with `admit=always` only held tuples are drawn."""
    return RandState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("rand", admit),
        np.array([setup.together]),
        np.zeros(2, np.int64),
    )


@jit
def _newcomers(state, now):
    """Return how many newcomers compete: this one, and those of the same time before it.

    So each of the held tuples and of the newcomers is equally likely to be kept, in whatever order
    they come: reservoir sampling.
    """
    if not state.together[0]:
        return 1
    if state.drawn[0] != now or state.drawn[1] == 0:
        state.drawn[0] = now
        state.drawn[1] = 0
    state.drawn[1] += 1
    return state.drawn[1]


@jit
def draw_victim(state, held, newcomer, now):
    size = state.members.size[0]
    if state.always[0]:
        return state.members.slot[rngs.below(state.rng, size)]
    drawn = rngs.below(state.rng, size + _newcomers(state, now))
    return REJECT if drawn >= size else state.members.slot[drawn]


class OrderState(NamedTuple):
    """The slots in the order in which they were filled (FIFO) or last used (LRU)."""

    order: orders.Order


def make_order_state(setup: Setup) -> OrderState:
    """Return an empty list."""
    return OrderState(orders.make_order(setup.capacity))


@jit
def move_to_back(state, held, slot, now):
    orders.move_to_back(state.order, 0, slot)


@jit
def first(state, held, newcomer, now):
    return orders.front(state.order, 0)


RAND = Policy(
    "rand",
    "evicts a random tuple",
    make_rand_state,
    draw_victim,
    **WITH_MEMBERS,
    advise={JOINING: Trial(5), CACHING: Trial(8)},
)
FIFO = Policy(
    "fifo",
    "evicts the oldest tuple",
    make_order_state,
    first,
    **WITH_ORDER,
    advise={JOINING: Trial(1), CACHING: Trial(2)},
)
LRU = Policy(
    "lru",
    "evicts the least recently matched tuple",
    make_order_state,
    first,
    on_match=move_to_back,
    **WITH_ORDER,
    auto={JOINING: Trial(6), CACHING: Trial(1)},
    advise={JOINING: Trial(2), CACHING: Trial(1)},
)
