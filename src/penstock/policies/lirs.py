"""LIRS: what is evicted is what was not used twice within a short time.

Tuples whose last two uses lie close together have *low* inter-reference recency and are kept; all
others are on a short queue, whose first is evicted. A tuple on the queue, or a key evicted lately,
that is used again while its last use is more recent than that of the stalest kept tuple is kept in
the place of that one, which joins the queue. So scans and loops larger than the memory do not
displace what is kept.

Source: Jiang, Zhang, "LIRS: an efficient low inter-reference recency set replacement policy"
(SIGMETRICS 2002).
Departures: the paper's stack is not kept: an entry is on it exactly if it was used after the
stalest kept tuple, so the time of the last use tells. As many evicted keys are remembered as the
budget has rows. The queue is a share of what is held, since tuples may expire and differ in bytes.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.order import NONE, Order
from ..kernel.policy import CACHING, Policy, Setup, Trial, check_range
from .shared import enter_list, move_to_list

LOW, HIGH = 0, 1


class LirsState(NamedTuple):
    """The kept tuples by last use, the queue, the last use of each, and of evicted keys."""

    lists: Order
    where: np.ndarray  # int8[capacity]: LOW or HIGH
    used: np.ndarray  # int64[capacity]: the last use, counted in uses
    ghost: orders.Ghost
    ghost_used: np.ndarray  # int64[entries of the ghost]: the last use of evicted keys
    uses: np.ndarray  # int64[1]: insertions and matches so far
    share: np.ndarray  # float64[1]: of the memory, for the queue
    evicts: np.ndarray  # bool[1]: the memory has been full


def make_state(setup: Setup, queue: float = 0.01) -> LirsState:
    """Return empty lists; `queue` is the share of the memory for tuples that are not kept."""
    check_range("lirs", "queue", queue, 0.001, 0.999)
    return LirsState(
        orders.make_order(setup.capacity, 2),
        np.zeros(setup.capacity, np.int8),
        np.zeros(setup.capacity, np.int64),
        orders.make_ghost(setup.scale),
        np.zeros(setup.scale, np.int64),
        np.zeros(1, np.int64),
        np.array([queue]),
        np.zeros(1, np.bool_),
    )


@jit
def _stalest(state):
    """Return the last use of the stalest kept tuple; anything is more recent than none."""
    slot = orders.front(state.lists, LOW)
    return np.int64(-1) if slot == NONE else state.used[slot]


@jit
def _demote(state):
    """Move the stalest kept tuple to the end of the queue."""
    slot = orders.front(state.lists, LOW)
    if slot != NONE:
        move_to_list(state.lists, state.where, slot, HIGH)


@jit
def _use(state, slot):
    state.uses[0] += 1
    state.used[slot] = state.uses[0]


@jit
def on_insert(state, held, slot, now):
    entry = orders.entry_of(state.ghost, held.key[slot, 0])
    soon = entry >= 0 and state.ghost_used[entry] > _stalest(state)
    if entry >= 0:
        orders.forget(state.ghost, held.key[slot, 0])
    if soon:
        _demote(state)
    enter_list(state.lists, state.where, slot, LOW if soon or not state.evicts[0] else HIGH)
    _use(state, slot)


@jit
def on_match(state, held, slot, now):
    if state.where[slot] == LOW:
        orders.move_to_back(state.lists, LOW, slot)
    elif state.used[slot] > _stalest(state):
        _demote(state)
        move_to_list(state.lists, state.where, slot, LOW)
    else:
        orders.move_to_back(state.lists, HIGH, slot)
    _use(state, slot)


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.lists, state.where[slot], slot)


@jit
def choose_victim(state, held, newcomer, now):
    state.evicts[0] = True
    kept, queued = orders.size(state.lists, LOW), orders.size(state.lists, HIGH)
    for _ in range(max(1, np.int64(state.share[0] * (kept + queued))) - queued):
        _demote(state)
    slot = orders.front(state.lists, HIGH)
    if state.used[slot] > _stalest(state):
        entry = orders.remember(state.ghost, held.key[slot, 0])
        state.ghost_used[entry] = state.used[slot]
    return slot


LIRS = Policy(
    "lirs",
    "keeps what was used twice within a short time",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    cost=2,
    auto={CACHING: Trial(5)},
    advise={CACHING: Trial(6)},
)
