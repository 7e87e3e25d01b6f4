"""NEWEST: the newest tuple is evicted, except for the `spare` that came last."""

from typing import NamedTuple

import numpy as np

from penstock.kernel import order as orders
from penstock.kernel.jit import jit
from penstock.kernel.order import BACK, BEFORE, NONE, Order
from penstock.kernel.policy import CACHING, JOINING, Policy, Setup, Trial, Tunable, check_range


class NewestState(NamedTuple):
    """The slots in the order in which they were filled."""

    order: Order
    spare: np.ndarray  # int64[1]: how many of the newest are not evicted


def make_state(setup: Setup, spare: int = 0) -> NewestState:
    """Return an empty list."""
    check_range("newest", "spare", spare, 0, 1000)
    return NewestState(orders.make_order(setup.capacity), np.array([spare]))


@jit
def on_insert(state, held, slot, now):
    orders.push_back(state.order, 0, slot)


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.order, 0, slot)


@jit
def choose_victim(state, held, newcomer, now):
    slot = np.int64(state.order.ends[0, BACK])
    for _ in range(state.spare[0]):
        before = np.int64(state.order.link[slot, BEFORE])
        if before == NONE:
            break
        slot = before
    return slot


NEWEST = Policy(
    "newest",
    "evicts the newest tuple, except for the last few",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    tunable={"spare": Tunable((0, 1, 4, 16), start=1)},
    retuned=lambda state, fresh: state._replace(spare=fresh.spare),
    auto={JOINING: Trial(), CACHING: Trial()},
    advise={JOINING: Trial(), CACHING: Trial()},
)
