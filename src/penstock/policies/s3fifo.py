"""S3-FIFO: a small probation queue, a main queue, and a list of recently evicted keys.

Newcomers enter the small queue. At its end a tuple that was used at least twice moves to the main
queue; any other is evicted and its key is remembered. A newcomer whose key is remembered enters the
main queue at once. In the main queue every use, up to three, keeps a tuple for one more round.

Before the first eviction the oldest `small` of the tuples are the small queue, the others the main
queue.

Source: Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023), as in
libCacheSim, with which a cache agrees hit for hit (`tests/policies/test_libcachesim.py`).
Departures: in a join keys are not unique; what is remembered is the key of the first attribute.
The sizes of the queues are shares of what is held, since tuples may expire and differ in bytes.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.order import NONE, Order
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial, check_range
from .shared import enter_list, move_to_list

SMALL, MAIN = 0, 1
ENOUGH = 2  # uses that lead from the small to the main queue
MOST = 3  # uses are counted up to here


class S3FifoState(NamedTuple):
    """The two queues, the uses of each slot, and the ghost."""

    queues: Order
    where: np.ndarray  # int8[capacity]: SMALL or MAIN
    uses: np.ndarray  # int8[capacity]
    ghost: orders.Ghost
    share: np.ndarray  # float64[1]: of the memory, for the small queue
    evicts: np.ndarray  # bool[1]: the memory has been full


def make_state(setup: Setup, small: float = 0.1) -> S3FifoState:
    """Return empty queues; `small` is the share of the small one."""
    check_range("s3fifo", "small", small, 0.001, 0.999)
    remembered = max(1, int((1 - small) * setup.scale))
    return S3FifoState(
        orders.make_order(setup.capacity, 2),
        np.zeros(setup.capacity, np.int8),
        np.zeros(setup.capacity, np.int8),
        # One more for the victim, which is remembered before the newcomer is looked up.
        orders.make_ghost(remembered + 1),
        np.array([small]),
        np.zeros(1, np.bool_),
    )


@jit
def _held(state):
    return orders.size(state.queues, SMALL) + orders.size(state.queues, MAIN)


@jit
def _small_share(state):
    """Return how many of the held tuples the small queue should have."""
    return max(1, np.int64(state.share[0] * _held(state)))


@jit
def on_insert(state, held, slot, now):
    state.uses[slot] = 0
    if not state.evicts[0]:
        enter_list(state.queues, state.where, slot, MAIN)
        if orders.size(state.queues, SMALL) < _small_share(state):
            move_to_list(state.queues, state.where, orders.front(state.queues, MAIN), SMALL)
        return
    known = orders.forget(state.ghost, held.key[slot, 0])
    enter_list(state.queues, state.where, slot, MAIN if known else SMALL)
    orders.shrink(state.ghost, max(1, np.int64((1 - state.share[0]) * _held(state))))


@jit
def on_match(state, held, slot, now):
    if state.uses[slot] < MOST:
        state.uses[slot] += 1


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.queues, state.where[slot], slot)


@jit
def _victim_of_small(state):
    """Move tuples with enough uses to the main queue; return the first without, or NONE."""
    while True:
        slot = orders.front(state.queues, SMALL)
        if slot == NONE or state.uses[slot] < ENOUGH:
            return slot
        move_to_list(state.queues, state.where, slot, MAIN)
        state.uses[slot] = 0


@jit
def _victim_of_main(state):
    while True:  # ends: every turn spends a use
        slot = orders.front(state.queues, MAIN)
        if state.uses[slot] == 0:
            return slot
        state.uses[slot] -= 1
        orders.move_to_back(state.queues, MAIN, slot)


@jit
def choose_victim(state, held, newcomer, now):
    state.evicts[0] = True
    small = orders.size(state.queues, SMALL)
    if small >= _small_share(state) or orders.size(state.queues, MAIN) == 0:
        slot = _victim_of_small(state)
        if slot != NONE:
            orders.remember(state.ghost, held.key[slot, 0])
            return slot
    return _victim_of_main(state)


S3FIFO = Policy(
    "s3fifo",
    "a small queue, a main queue, and a list of the keys just evicted",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    cost=2,
    auto={CACHING: Trial(0)},
    advise={JOINING: Trial(4), CACHING: Trial(4)},
)
