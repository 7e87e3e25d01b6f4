"""HEEB: the tuple with the least expected benefit goes.

The benefit of a tuple is what the stream it waits for is expected to bring of its key, each step to
come weighted by the chance L that the tuple is still held then. A model of each stream says what
it will bring: given beforehand, or fitted to the stream while it runs. H is worked out into a table
when a model is known (`models.curves`), so that a score is one look into it.

All scores move with time, so a small memory is scanned and of a larger one a sample is compared.
With `alpha=auto` several values of alpha are tried beside, each in a small shadow memory of its
own (`alphas.py`), and the one that finds most sets the scores.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005).
Departures: a window that ends sooner cuts the benefit off; a step of a stream is one arrival of it.
"""

from typing import NamedTuple

import numpy as np

from ..core import history as histories
from ..core import members as sets
from ..core import rng as rngs
from ..core.gains import gain
from ..core.history import History, make_history
from ..core.jit import jit
from ..core.least import make_choose
from ..core.members import Members
from ..core.pages import zeros
from ..core.policy import Policy, Setup
from ..core.slots import FOREVER
from ..core.worth import (
    LEVEL,
    LINE,
    LOW,
    PERIOD,
    SLOPE,
    STATIONARY,
    STEP,
    UNKNOWN,
    WALK,
    X_LOW,
    X_STEP,
)
from . import alphas
from .admission import COMPETE, admits_always
from .alphas import Alphas
from .heeb_tables import (
    PHASES,
    Plan,
    Tables,
    arrivals_left,
    make_plan,
    read_wishes,
    rethink,
    starting_tables,
)


class HeebState(NamedTuple):
    """What is known of the streams, and who is held."""

    tables: Tables
    plan: Plan
    history: History
    alphas: Alphas
    members: Members
    since: np.ndarray  # int64[capacity]: how far the awaited stream was when a tuple came
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    sides: np.ndarray  # int64[joins, sides, 2]: (stream, attribute) of each side, -1 pads
    began: np.ndarray  # int64[1]: the time of the first arrival
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(
    setup: Setup,
    model: str = "auto",
    L: str = "exp",
    alpha: str = "auto",
    lifetime: float | None = None,
    steps: int = 100,
    period: float | None = None,
    fit: str = "running",
    admit: str = COMPETE,
) -> HeebState:
    """Return an empty state.

    `model` is a family (stationary, trend, walk, ar1, seasonal), or auto: what is given, or else
    the best of them. `L` is exp, fixed, inf or inv. exp has an `alpha`: a number; `lifetime`, as
    long as tuples are seen to last; or auto. With `lifetime=12.5` it follows from that mean
    lifetime. fixed looks `steps` ahead. `period` is that of a season, if it is known. With
    `fit=before` a model that is given is used whatever its family, and `penstock simulate` gives
    models fitted to the whole trace.
    """
    shape = setup.shape
    wishes = read_wishes(setup, L, alpha, lifetime, steps)
    plan = make_plan(setup, wishes, model, L, period, fit)
    sides = np.full((len(shape.joins), shape.sides, 2), -1, np.int64)
    for number, join in enumerate(shape.joins):
        sides[number, : len(join)] = join
    return HeebState(
        starting_tables(setup, plan),
        plan,
        make_history(shape.streams * shape.attributes),
        alphas.make_alphas(setup, wishes.scale, wishes.mode),
        sets.make_members(setup.capacity),
        zeros(setup.capacity, np.int64),
        shape.leg_table,
        sides,
        np.full(1, FOREVER),
        rngs.make_rng(setup.seed),
        admits_always("heeb", admit),
    )


@jit
def _on_curve(tables, series, layer, offset):
    """Read a curve at a distance; beyond its ends nothing is to be expected."""
    start, size = tables.start[series, layer], tables.shape[series, 2]
    numbers = tables.numbers
    place = np.int64(np.floor((offset - numbers[series, LOW]) / numbers[series, STEP] + 0.5))
    if place < 0 or place >= size:
        return 0.0
    return tables.worth[start + place]


@jit
def _between(tables, start, series, x, v):
    """Read a surface between its points; beyond its edges what the edge says."""
    lasts, values = tables.shape[series, 1], tables.shape[series, 2]
    numbers = tables.numbers
    along = (v - numbers[series, LOW]) / numbers[series, STEP]
    if along < 0 or along > values - 1:
        return 0.0
    across = (x - numbers[series, X_LOW]) / numbers[series, X_STEP]
    across = min(max(across, 0.0), lasts - 1.0)
    row, column = min(np.int64(across), lasts - 2), min(np.int64(along), values - 2)
    down, right = across - row, along - column
    at = start + row * values + column
    worth = tables.worth
    upper = worth[at] * (1 - right) + worth[at + 1] * right
    lower = worth[at + values] * (1 - right) + worth[at + values + 1] * right
    return upper * (1 - down) + lower * down


@jit
def _on_surface(tables, series, layer, steps, newest, key):
    """Read the surface of an autoregression; of a season, those of the two nearest phases."""
    phases = tables.shape[series, 0]
    turn = 0.0  # of the season, from 0 to 1
    if phases > 1:
        since = np.float64(steps) - tables.numbers[series, LEVEL]
        turn = since / tables.numbers[series, PERIOD]
        turn -= np.floor(turn)
        newest -= tables.season[series, np.int64(turn * PHASES) % PHASES]
    first = np.int64(turn * phases) % phases
    later = turn * phases - np.floor(turn * phases)  # how near the second one is
    area = tables.shape[series, 1] * tables.shape[series, 2]
    total = 0.0
    for phase in range(first, first + min(phases, 2)):
        share = 1.0 - later if phase == first else later
        start = tables.start[series, layer] + phase % phases * area
        total += share * _between(tables, start, series, newest, key)
    return total


@jit
def _known(tables, series, layer, key):
    """Look a value of a stationary stream up, by bisection."""
    low, high = tables.first_key[series], tables.first_key[series + 1]
    end, start = high, low
    while low < high:
        middle = (low + high) // 2
        if tables.key[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low == end or tables.key[low] != key:
        return 0.0
    return tables.worth[tables.start[series, layer] + low - start]


@jit
def _beside_line(tables, history, series, layer, key, ahead):
    """Return H of a key as it will be `ahead` steps from now, by its distance from a trend."""
    steps = history.arrived[series] - 1 + ahead
    line = tables.numbers[series, LEVEL] + tables.numbers[series, SLOPE] * steps
    return _on_curve(tables, series, layer, key - line)


@jit
def benefit(tables, history, series, layer, key):
    """Return H of a key that waits for a series."""
    form = tables.form[series]
    if form == LINE:
        return _beside_line(tables, history, series, layer, key, 0.0)
    if form == UNKNOWN:
        return 0.0
    if form == STATIONARY:
        return _known(tables, series, layer, key)
    if history.arrived[series] == 0:
        return 0.0
    newest = np.float64(histories.newest(history, series))
    if form == WALK:
        return _on_curve(tables, series, layer, key - newest)
    steps = history.arrived[series] - 1
    return _on_surface(tables, series, layer, steps, newest, np.float64(key))


@jit
def _worth(state, layer, series, key, deadline, now):
    """Return H of a tuple that waits for one series, under one of the alphas.

    A window that ends cuts H off. For exp, what lies beyond its end is H as it will be then, times
    the chance L to be held so long. On a trend that is known; elsewhere H is taken to stay.
    """
    tables, history = state.tables, state.history
    worth = benefit(tables, history, series, layer, key)
    if deadline == FOREVER or worth == 0.0 or not state.plan.discounts[0]:
        return worth
    spent = max(1.0, np.float64(now - state.began[0] + 1))
    left = np.float64(deadline - now) * history.arrived[series] / spent  # in steps of the series
    alpha = state.alphas.value[layer]
    if left >= 40 * alpha:
        return worth
    beyond = worth
    if tables.form[series] == LINE:
        beyond = _beside_line(tables, history, series, layer, key, np.floor(left))
    return worth if beyond == 0.0 else worth - np.exp(-np.floor(left) / alpha) * beyond


@jit
def _awaited(state, join, side):
    """Return the series of one side of a join, or -1."""
    stream = state.sides[join, side, 0]
    return stream if stream < 0 else stream * state.plan.attributes[0] + state.sides[join, side, 1]


@jit
def score(state, held, slot, now):
    """Return H of a tuple: a factor per other side of a join, a summand per join.

    With the goal of rows H is weighed by what a partner gains.
    """
    stream, deadline = held.at[slot]["stream"], held.at[slot]["deadline"]
    layer = state.alphas.chosen[0]
    total = 0.0
    for leg in range(state.legs.shape[1]):
        join, side = state.legs[stream, leg, 0], state.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, state.legs[stream, leg, 2]]
        product = gain(held, slot, leg)
        for other in range(state.sides.shape[1]):
            series = _awaited(state, join, other)
            if other != side and series >= 0:
                product *= _worth(state, layer, series, key, deadline, now)
        total += product
    return total


@jit
def _waits_for(state, stream):
    """Return the first series that a tuple of this stream waits for."""
    join, side = state.legs[stream, 0, 0], state.legs[stream, 0, 1]
    return _awaited(state, join, 1 if side == 0 else 0)


@jit
def _score_of_shadow(state, layer, stream, key, deadline, now):
    return _worth(state, layer, _waits_for(state, stream), key, deadline, now)


# A quarter of the usual sample is five times as fast, and loses less than 1 % of the results.
choose_victim = make_choose(score, sample=16)
_try_out = alphas.make_trial(_score_of_shadow)


@jit
def on_arrival(state, held, slot, now):
    state.began[0] = min(state.began[0], now)
    stream, attributes = held.at[slot]["stream"], state.plan.attributes[0]
    for attribute in range(attributes):
        histories.note(state.history, stream * attributes + attribute, held.key[slot, attribute])
    state.plan.wait[0] -= 1
    if len(state.alphas.size) > 0:
        _try_out(state, held, slot, now)


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)
    state.since[slot] = state.history.arrived[_waits_for(state, held.at[slot]["stream"])]


@jit
def on_remove(state, held, slot, now):
    sets.discard(state.members, slot)
    steps = state.history.arrived[_waits_for(state, held.at[slot]["stream"])] - state.since[slot]
    alphas.saw_lifetime(state.alphas, steps)


def refresh(state: HeebState) -> HeebState:
    """Fit the models anew to what came lately."""
    return state._replace(tables=rethink(state.tables, state.plan, state.history))


HEEB = Policy(
    "heeb",
    "the tuple with the least expected benefit goes, by a model of the streams",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    on_arrival=on_arrival,
    pause=lambda state: arrivals_left(state.plan),
    refresh=refresh,
    ordered=True,
    tracked=lambda state: int(state.members.size[0]),
    cost=20,
)
