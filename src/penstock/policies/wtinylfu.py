"""W-TinyLFU: a small window for newcomers, and a main memory that only the more frequent may enter.

Three lists by last use: the window, and in the main memory probation and protected. When room is
needed, the last of the window and the last of probation are compared by a sketch of how often
their keys came; the rarer goes.

Source: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy" (ACM ToS
2017).
Departure: in a join, arrivals of either side count for a key.
"""

from typing import NamedTuple

import numpy as np

from ..core import order as orders
from ..core import sketch as sketches
from ..core.jit import jit
from ..core.order import NONE, Order
from ..core.policy import Policy, Setup, check_range
from ..core.sketch import Sketch

WINDOW, PROBATION, PROTECTED = 0, 1, 2


class WTinyLfuState(NamedTuple):
    """Three lists by last use, where each slot is, and the sketch."""

    lists: Order
    where: np.ndarray  # int8[capacity]
    sketch: Sketch
    window: np.ndarray  # float64[1]: share of the memory for the window
    protected: np.ndarray  # float64[1]: share of the main memory that is protected


def make_state(setup: Setup, window: float = 0.01, protected: float = 0.8) -> WTinyLfuState:
    """Return empty lists with the given shares."""
    check_range("wtinylfu", "window", window, 0, 0.999)
    check_range("wtinylfu", "protected", protected, 0, 1)
    return WTinyLfuState(
        orders.make_order(setup.capacity, 3),
        np.zeros(setup.capacity, np.int8),
        sketches.make_sketch(setup.scale),
        np.array([window], float),
        np.array([protected], float),
    )


@jit
def _move(state, slot, to):
    orders.unlink(state.lists, state.where[slot], slot)
    orders.push_back(state.lists, to, slot)
    state.where[slot] = to


@jit
def _window_is_full(state, spare):
    """Tell whether the window has more than its share, or will have with `spare` more."""
    inside = orders.size(state.lists, WINDOW)
    held = inside + orders.size(state.lists, PROBATION) + orders.size(state.lists, PROTECTED)
    return inside + spare > max(1, np.int64(state.window[0] * held))


@jit
def on_arrival(state, held, slot, now):
    sketches.add(state.sketch, held.key[slot, 0])


@jit
def on_insert(state, held, slot, now):
    orders.push_back(state.lists, WINDOW, slot)
    state.where[slot] = WINDOW
    while _window_is_full(state, 0):
        _move(state, orders.front(state.lists, WINDOW), PROBATION)


@jit
def on_match(state, held, slot, now):
    if state.where[slot] != PROBATION:
        orders.move_to_back(state.lists, state.where[slot], slot)
        return
    _move(state, slot, PROTECTED)
    safe = orders.size(state.lists, PROTECTED)
    room = np.int64(state.protected[0] * (orders.size(state.lists, PROBATION) + safe))
    while safe > room and safe > 1:
        _move(state, orders.front(state.lists, PROTECTED), PROBATION)
        safe -= 1


@jit
def on_remove(state, held, slot, now):
    orders.unlink(state.lists, state.where[slot], slot)


@jit
def choose_victim(state, held, newcomer, now):
    candidate = np.int64(NONE)
    if _window_is_full(state, 1):
        candidate = orders.front(state.lists, WINDOW)
    tenant = orders.front(state.lists, PROBATION)
    if tenant == NONE:
        tenant = orders.front(state.lists, PROTECTED)
    if candidate == NONE:
        return tenant
    if tenant == NONE:
        return candidate
    wanted = sketches.estimate(state.sketch, held.key[candidate, 0])
    if wanted > sketches.estimate(state.sketch, held.key[tenant, 0]):
        _move(state, candidate, PROBATION)
        return tenant
    return candidate


WTINYLFU = Policy(
    "wtinylfu",
    "newcomers wait in a window; only the more frequent displace what is held",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    tracked=lambda state: int(state.lists.ends[:, 2].sum()),
    cost=2,
)
