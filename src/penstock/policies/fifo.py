"""FIFO: the oldest goes.

Blind to the data, and what most stream processors do when they drop anything at all.

Source: the baseline of the CLOCK paper (section 3.1) and of the GDJ paper (section 5).
"""

from typing import NamedTuple

from ..core import order as orders
from ..core.jit import jit
from ..core.order import Order
from ..core.policy import Policy, Setup


class FifoState(NamedTuple):
    """The slots in the order in which they were filled."""

    order: Order


def make_state(setup: Setup) -> FifoState:
    """Return an empty queue."""
    return FifoState(orders.make_order(setup.capacity))


@jit
def on_insert(state, held, slot, now):
    orders.push_back(state.order, 0, slot)


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.order, 0, slot)


@jit
def choose_victim(state, held, newcomer, now):
    return orders.front(state.order, 0)


FIFO = Policy(
    "fifo",
    "the oldest tuple goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    tracked=lambda state: int(state.order.ends[0, 2]),
)
