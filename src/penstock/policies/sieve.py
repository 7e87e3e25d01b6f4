"""SIEVE: a hand moves from the oldest to the newest tuple and passes over those that matched since
its last visit.

Unlike in CLOCK these keep their place, so newcomers are evicted soon while the hand is among older
tuples.

Source: Zhang et al., "SIEVE is simpler than LRU" (NSDI 2024).
"""

from typing import NamedTuple

import numpy as np

from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.order import AFTER, NONE, Order
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial
from .shared import WITH_ORDER, append, unlink


class SieveState(NamedTuple):
    """The queue, which tuples were used, and the position of the hand."""

    order: Order  # the oldest first
    used: np.ndarray  # bool[capacity]
    hand: np.ndarray  # int64[1]: a slot, or NONE to start from the oldest


def make_state(setup: Setup) -> SieveState:
    """Return an empty queue."""
    return SieveState(
        orders.make_order(setup.capacity),
        np.zeros(setup.capacity, np.bool_),
        np.full(1, NONE, np.int64),
    )


@jit
def on_insert(state, held, slot, now):
    state.used[slot] = False
    append(state, held, slot, now)


@jit
def on_match(state, held, slot, now):
    state.used[slot] = True


@jit
def on_remove(state, held, slot, now):
    if state.hand[0] == slot:
        state.hand[0] = state.order.link[slot, AFTER]
    unlink(state, held, slot, now)


@jit
def choose_victim(state, held, newcomer, now):
    slot = state.hand[0]
    if slot == NONE:
        slot = orders.front(state.order, 0)
    while state.used[slot]:  # ends within one lap: the lap clears every mark
        state.used[slot] = False
        slot = np.int64(state.order.link[slot, AFTER])
        if slot == NONE:
            slot = orders.front(state.order, 0)
    state.hand[0] = slot  # on_remove moves it one further
    return slot


SIEVE = Policy(
    "sieve",
    "a hand passes over tuples that matched since its last visit; evicts the first other",
    make_state,
    choose_victim,
    on_match=on_match,
    **WITH_ORDER | {"on_insert": on_insert, "on_remove": on_remove},
    advise={JOINING: Trial(3), CACHING: Trial(3)},
)
