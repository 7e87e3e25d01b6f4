"""W-TinyLFU: a small window for newcomers, and a main memory that only more frequent keys enter.

Three lists by last use: the window, and in the main memory probation and protected. When room is
needed, the last of the window and the last of probation are compared by a sketch of how often
their keys came; the rarer is evicted.

Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy" (ACM ToS
2017).
Departure: in a join, arrivals of either side count for a key.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import keycounts
from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.order import NONE, Order
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial, check_range
from .shared import enter_list, move_to_list

WINDOW, PROBATION, PROTECTED = 0, 1, 2


class WTinyLfuState(NamedTuple):
    """Three lists by last use, where each slot is, and the sketch."""

    lists: Order
    where: np.ndarray  # int8[capacity]
    sketch: keycounts.CountSketch
    window: np.ndarray  # float64[1]: share of the memory for the window
    protected: np.ndarray  # float64[1]: share of the main memory that is protected


def make_state(setup: Setup, window: float = 0.01, protected: float = 0.8) -> WTinyLfuState:
    """Return empty lists with the given shares."""
    check_range("wtinylfu", "window", window, 0, 0.999)
    check_range("wtinylfu", "protected", protected, 0, 1)
    return WTinyLfuState(
        orders.make_order(setup.capacity, 3),
        np.zeros(setup.capacity, np.int8),
        keycounts.make_sketch(setup.scale),
        np.array([window], float),
        np.array([protected], float),
    )


@jit
def _window_is_full(state, spare):
    """Tell whether the window has more than its share, or will have with `spare` more."""
    inside = orders.size(state.lists, WINDOW)
    held = inside + orders.size(state.lists, PROBATION) + orders.size(state.lists, PROTECTED)
    return inside + spare > max(1, np.int64(state.window[0] * held))


@jit
def on_arrival(state, held, slot, now):
    keycounts.add(state.sketch, held.key[slot, 0])


@jit
def on_insert(state, held, slot, now):
    enter_list(state.lists, state.where, slot, WINDOW)
    while _window_is_full(state, 0):
        move_to_list(state.lists, state.where, orders.front(state.lists, WINDOW), PROBATION)


@jit
def on_match(state, held, slot, now):
    if state.where[slot] != PROBATION:
        orders.move_to_back(state.lists, state.where[slot], slot)
        return
    move_to_list(state.lists, state.where, slot, PROTECTED)
    safe = orders.size(state.lists, PROTECTED)
    room = np.int64(state.protected[0] * (orders.size(state.lists, PROBATION) + safe))
    while safe > room and safe > 1:
        move_to_list(state.lists, state.where, orders.front(state.lists, PROTECTED), PROBATION)
        safe -= 1


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.lists, state.where[slot], slot)


@jit
def choose_victim(state, held, newcomer, now):
    challenger = np.int64(NONE)
    if _window_is_full(state, 1):
        challenger = orders.front(state.lists, WINDOW)
    incumbent = orders.front(state.lists, PROBATION)
    if incumbent == NONE:
        incumbent = orders.front(state.lists, PROTECTED)
    if challenger == NONE:
        return incumbent
    if incumbent == NONE:
        return challenger
    wanted = keycounts.estimate(state.sketch, held.key[challenger, 0])
    if wanted > keycounts.estimate(state.sketch, held.key[incumbent, 0]):
        move_to_list(state.lists, state.where, challenger, PROBATION)
        return incumbent
    return challenger


WTINYLFU = Policy(
    "wtinylfu",
    "newcomers enter a window; only more frequent ones replace what is held",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    cost=2,
    auto={CACHING: Trial(3)},
    advise={JOINING: Trial(6), CACHING: Trial(5)},
)
