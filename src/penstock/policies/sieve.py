"""SIEVE: a hand sweeps from the oldest to the newest and spares, once, who matched since it last
came.

Unlike CLOCK the spared stay where they are, so newcomers are sifted out quickly while the hand
works among the old.

Source: Zhang et al., "SIEVE is simpler than LRU" (NSDI 2024).
"""

from typing import NamedTuple

import numpy as np

from ..core import order as orders
from ..core.jit import jit
from ..core.order import AFTER, NONE, Order
from ..core.policy import Policy, Setup


class SieveState(NamedTuple):
    """The queue, who was used, and where the hand stands."""

    queue: Order
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
    orders.push_back(state.queue, 0, slot)


@jit
def on_match(state, held, slot, now):
    state.used[slot] = True


@jit
def on_remove(state, held, slot, now):
    if state.hand[0] == slot:
        state.hand[0] = state.queue.link[slot, AFTER]
    orders.unlink(state.queue, 0, slot)


@jit
def choose_victim(state, held, newcomer, now):
    slot = state.hand[0]
    if slot == NONE:
        slot = orders.front(state.queue, 0)
    while state.used[slot]:  # ends within one lap: the lap clears every mark
        state.used[slot] = False
        slot = np.int64(state.queue.link[slot, AFTER])
        if slot == NONE:
            slot = orders.front(state.queue, 0)
    state.hand[0] = slot  # on_remove moves it one further
    return slot


SIEVE = Policy(
    "sieve",
    "a sweeping hand spares, once, whoever matched since its last visit",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    tracked=lambda state: int(state.queue.ends[0, 2]),
)
