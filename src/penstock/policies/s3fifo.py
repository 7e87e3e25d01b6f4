"""S3-FIFO: a small queue on probation, a main queue, and a memory of who was just sent away.

Newcomers wait in the small queue; who is used there more than once moves to the main queue, the
others go and are remembered. A newcomer whose key is remembered goes to the main queue at once.

Source: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023).
Departure: in a join keys are not unique; what is remembered is the key of the first attribute.
"""

from typing import NamedTuple

import numpy as np

from ..core import ghost as ghosts
from ..core import order as orders
from ..core.ghost import Ghost
from ..core.jit import jit
from ..core.order import Order
from ..core.policy import Policy, Setup, check_range

SMALL, MAIN = 0, 1
MOST = 3  # uses are counted up to here


class S3FifoState(NamedTuple):
    """The two queues, the uses of each slot, and the ghost."""

    queues: Order
    where: np.ndarray  # int8[capacity]: SMALL or MAIN
    uses: np.ndarray  # int8[capacity]
    ghost: Ghost
    share: np.ndarray  # float64[1]: of the memory, for the small queue


def make_state(setup: Setup, small: float = 0.1) -> S3FifoState:
    """Return empty queues; `small` is the share of the small one."""
    check_range("s3fifo", "small", small, 0.001, 0.999)
    return S3FifoState(
        orders.make_order(setup.capacity, 2),
        np.zeros(setup.capacity, np.int8),
        np.zeros(setup.capacity, np.int8),
        ghosts.make_ghost(max(1, setup.scale - int(small * setup.scale))),
        np.array([small]),
    )


@jit
def on_insert(state, held, slot, now):
    known = ghosts.forget(state.ghost, held.key[slot, 0])
    state.where[slot] = MAIN if known else SMALL
    state.uses[slot] = 0
    orders.push_back(state.queues, state.where[slot], slot)


@jit
def on_match(state, held, slot, now):
    if state.uses[slot] < MOST:
        state.uses[slot] += 1


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.queues, state.where[slot], slot)


@jit
def _from_small(state):
    small, main = orders.size(state.queues, SMALL), orders.size(state.queues, MAIN)
    share = max(1, np.int64(state.share[0] * (small + main)))
    return small > 0 and (small >= share or main == 0)


@jit
def choose_victim(state, held, newcomer, now):
    while True:  # ends: every turn spends a use or moves a slot to the main queue
        if _from_small(state):
            slot = orders.front(state.queues, SMALL)
            if state.uses[slot] <= 1:
                ghosts.remember(state.ghost, held.key[slot, 0])
                return slot
            orders.unlink(state.queues, SMALL, slot)
            orders.push_back(state.queues, MAIN, slot)
            state.where[slot] = MAIN
            state.uses[slot] = 0
        else:
            slot = orders.front(state.queues, MAIN)
            if state.uses[slot] == 0:
                return slot
            state.uses[slot] -= 1
            orders.move_to_back(state.queues, MAIN, slot)


S3FIFO = Policy(
    "s3fifo",
    "two queues and a memory of who was just sent away",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    tracked=lambda state: int(state.queues.ends[:, 2].sum()),
    cost=2,
)
