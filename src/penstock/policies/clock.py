"""CLOCK, data-aware: a hand moves over the tuples and lowers their scores.

A newcomer starts with the score `w0`; every match adds one. When room is needed the hand lowers
the score it points at, by one or (with `rho`) by a factor; a tuple whose score falls below `tau`
is evicted and the newcomer takes its place in the round, any other is passed over. So the score
combines how recently and how often a tuple matched.

The paper leaves the hand where it evicted (`hand=stays`): the newcomer is looked at first when room
is needed again, and remains only if it has matched by then, or if `w0` spares it. With `hand=moves`
the hand goes on behind the newcomer, which is looked at last. A newcomer that finds a free place
is looked at last either way. With `w0=0` a hand that stays finds less on 26 of the 28 joins of the
comparison and on 9 of its 13 caches, 0.73 and 0.82 times as much in the mean; with `w0=1` it finds
as much as one that moves with `w0=0`. So it moves by default. `hand=auto` finds which is better.

The policy `auto` tries no hand that stays: where one gains most, on the generated viewers of the
paper's experiment, it has a recall of 0.967, 0.879, 0.787, 0.600 and 0.333 in caches of 50, 25, 15,
5 and 1 % (one that moves 0.931, 0.714, 0.510, 0.016, 0.002), and `auto`, with RATE or PROB in
force, 0.975, 0.911, 0.835, 0.659 and 0.419. One more shadow cache would gain nothing there.

A lap in which nothing falls below the floor tells the smallest score, and so how many more such
laps there will be: their reductions are applied at once. So a victim is found in at most five steps
a tuple, whatever the scores are.

How fast scores should fall differs from stream to stream. With `rho=auto` the rate is found while
the engine runs, also whether scores should fall by one instead; with `w0=auto` the score to begin
with is found too. Shadow caches try them (`engine/adapt/chooser.py`), which the paper leaves open.

Source: Gao, Scharrenbach, Bernstein, "The CLOCK data-aware eviction approach" (ESWC 2014),
section 3.2.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.pages import zeros
from ..kernel.policy import (
    CACHING,
    JOINING,
    Policy,
    Setup,
    Trial,
    Tunable,
    check_choice,
    check_range,
)
from .shared import WITH_ORDER

STAYS, MOVES = "stays", "moves"
MOST = 1e6  # the highest score to begin with
# Tried by `rho=auto`; None: scores fall by one. Nearer to 1 the hand needs thousands of rounds.
RATES = (0.01, None, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


class ClockState(NamedTuple):
    """Scores, and the round with the hand at its front: passing over is moving to the back."""

    weight: np.ndarray  # float64[capacity]
    order: orders.Order  # the round
    first: np.ndarray  # float64[1]: the score of a newcomer, w0 in the paper
    factor: np.ndarray  # float64[1]: what a pass of the hand multiplies by, or 1
    step: np.ndarray  # float64[1]: what it subtracts, or 0
    floor: np.ndarray  # float64[1]: below this a tuple is evicted, tau in the paper
    stays: np.ndarray  # bool[1]: the hand stays where it evicts
    vacant: np.ndarray  # bool[1]: it has evicted, and the next newcomer takes that place


def make_state(
    setup: Setup,
    w0: float = 0.0,
    rho: float | None = None,
    tau: float | None = None,
    hand: str = MOVES,
) -> ClockState:
    """Return an empty round; without `rho` scores fall by one, with it they are multiplied."""
    check_choice("clock", "hand", hand, (STAYS, MOVES))
    check_range("clock", "w0", w0, 0, MOST)
    if rho is not None:
        check_range("clock", "rho", rho, 0, 0.999999)
    floor = tau if tau is not None else (0.0 if rho is None else 0.01)
    # A score that is multiplied never reaches zero; one that falls by one needs a reachable floor.
    check_range("clock", "tau", floor, -MOST if rho is None else 1e-300, MOST)
    return ClockState(
        zeros(setup.capacity),
        orders.make_order(setup.capacity),
        np.array([w0], float),
        np.array([1.0 if rho is None else rho]),
        np.array([1.0 if rho is None else 0.0]),
        np.array([floor], float),
        np.array([hand == STAYS]),
        np.zeros(1, np.bool_),
    )


@jit
def _push_front(order, slot):
    """Put a slot where the hand is, before all others."""
    first = orders.front(order, 0)
    if first == orders.NONE:
        orders.push_back(order, 0, slot)
        return
    order.link[slot, orders.BEFORE] = orders.NONE
    order.link[slot, orders.AFTER] = first
    order.link[first, orders.BEFORE] = slot
    order.ends[0, orders.FRONT] = slot
    order.ends[0, orders.SIZE] += 1


@jit
def on_insert(state, held, slot, now):
    state.weight[slot] = state.first[0]
    if state.stays[0] and state.vacant[0]:
        _push_front(state.order, slot)
    else:
        orders.push_back(state.order, 0, slot)
    state.vacant[0] = False


@jit
def on_match(state, held, slot, now):
    state.weight[slot] += 1.0


@jit
def _laps(state, least):
    """Return a number of laps that leave the least score at the floor or above it."""
    factor, floor = state.factor[0], state.floor[0]
    if state.step[0] > 0.0:
        return np.floor(least - floor)
    if factor <= 0.0 or floor <= 0.0:
        return 0.0
    return max(0.0, np.floor(np.log(floor / least) / np.log(factor)) - 1.0)  # one less: rounding


@jit
def turn(state):
    """Move the hand to the next victim; return its slot, and how many scores were looked at."""
    factor, step, floor = state.factor[0], state.step[0], state.floor[0]
    size, steps, least = orders.size(state.order, 0), 0, np.inf
    while True:  # ends: every lap lowers every score
        slot = orders.front(state.order, 0)
        steps += 1
        weight = state.weight[slot] * factor - step
        state.weight[slot] = weight
        if weight < floor:
            return slot, steps
        least = min(least, weight)
        orders.move_to_back(state.order, 0, slot)
        if steps == size:
            laps = _laps(state, least)
            if laps > 0.0:
                for _ in range(size):
                    slot = orders.front(state.order, 0)
                    state.weight[slot] = state.weight[slot] * factor**laps - step * laps
                    orders.move_to_back(state.order, 0, slot)
                steps += size


@jit
def choose_victim(state, held, newcomer, now):
    state.vacant[0] = True
    return turn(state)[0]


def retuned(state: ClockState, fresh: ClockState) -> ClockState:
    return state._replace(
        first=fresh.first,
        factor=fresh.factor,
        step=fresh.step,
        floor=fresh.floor,
        stays=fresh.stays,
    )


CLOCK = Policy(
    "clock",
    "a hand lowers scores that matches raise; evicts a tuple whose score falls below a floor",
    make_state,
    choose_victim,
    on_match=on_match,
    **WITH_ORDER | {"on_insert": on_insert},
    tunable={
        "rho": Tunable(RATES, 0.5),
        "w0": Tunable((0.0, 1.0), 0.0),
        "hand": Tunable((MOVES, STAYS), MOVES),
    },
    retuned=retuned,
    auto={JOINING: Trial(5, ("rho=0.5",))},
    advise={JOINING: Trial(0), CACHING: Trial(0)},
)
