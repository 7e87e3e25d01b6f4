"""LRU: who has gone longest without a match goes.

Source: the baseline of the CLOCK paper (section 3.1); for caching, the HEEB paper, section 8.
"""

from typing import NamedTuple

from ..core import order as orders
from ..core.jit import jit
from ..core.order import Order
from ..core.policy import Policy, Setup


class LruState(NamedTuple):
    """The slots in the order of their last use."""

    order: Order


def make_state(setup: Setup) -> LruState:
    """Return an empty list."""
    return LruState(orders.make_order(setup.capacity))


@jit
def on_insert(state, held, slot, now):
    orders.push_back(state.order, 0, slot)


@jit
def on_match(state, held, slot, now):
    orders.move_to_back(state.order, 0, slot)


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.order, 0, slot)


@jit
def choose_victim(state, held, newcomer, now):
    return orders.front(state.order, 0)


LRU = Policy(
    "lru",
    "the least recently matched tuple goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    tracked=lambda state: int(state.order.ends[0, 2]),
)
