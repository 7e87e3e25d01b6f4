"""HEEB: the tuple with the least expected benefit is evicted.

The benefit H of a tuple is how often its key is expected on the other stream, each future step
weighted by the chance L that the tuple is still held then. A model of each stream gives the
probabilities: given beforehand, or fitted to the stream while it runs. H is computed into a table
when a model is known (`models.benefit`), so that a score is one look into it.

All scores change with time, so a small memory is scanned and of a larger one a sample is compared.

How far to look ahead is alpha. It is given; or the alpha under which tuples would be held as long
as they are; or found by feedback (`alpha=auto`): every alpha has a small shadow memory beside the
real one, fed with the keys of a hash sample small enough for it (all keys, where the real memory is
small), and the alpha that finds most there sets the scores.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005).
Departures: a window that ends sooner cuts the benefit off; a step of a stream is one arrival of it.
"""

import math
from typing import NamedTuple

import numpy as np

from ..kernel import gains as layout
from ..kernel import members as sets
from ..kernel import recent as histories
from ..kernel import rng as rngs
from ..kernel.jit import jit
from ..kernel.members import make_choose
from ..kernel.pages import zeros
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial
from ..kernel.recent import History, make_history
from ..kernel.rng import mix
from ..kernel.slots import FOREVER
from . import heeb_tables as benefits
from .shared import COMPETE, admits_always

ROOM = 256  # tuples in a shadow memory at most
FADE = 1 - 1 / 20_000  # what a result found long ago still counts, per arrival since
LEAD = 1.002  # a new alpha must have found so many times as much
LIVES = 1_000.0  # lifetimes that the mean is taken over
SALT = np.uint64(0xA24BAED4963EE407)


class Alphas(NamedTuple):
    """The alphas, the one in force, and the shadow memories; without feedback there are none."""

    value: np.ndarray  # float64[alphas]
    chosen: np.ndarray  # int64[1]
    mode: np.ndarray  # int64[1]
    life: np.ndarray  # float64[2]: the mean lifetime, and how many it is the mean of
    key: np.ndarray  # int64[shadows, room]
    stream: np.ndarray  # int64[shadows, room]
    time: np.ndarray  # int64[shadows, room]
    deadline: np.ndarray  # int64[shadows, room]
    size: np.ndarray  # int64[shadows]
    found: np.ndarray  # float64[shadows]
    threshold: np.ndarray  # uint64[1]: which keys are in the sample
    together: np.ndarray  # bool[1]: tuples of one time do not match
    caching: np.ndarray  # bool[1]


def make_alphas(setup: Setup, values: np.ndarray, mode: int) -> Alphas:
    """Return the alphas with empty shadow memories."""
    shadows = len(values) if mode == benefits.FEEDBACK and setup.shape.is_plain else 0
    room = max(1, min(ROOM, setup.scale))
    share = min(1.0, room / setup.scale)
    key, stream, time, deadline = (np.zeros((shadows, room), np.int64) for _ in range(4))
    return Alphas(
        values,
        # The paper's choice for walks and autoregressions: alpha as large as the memory.
        np.array([np.abs(np.log(values / setup.scale)).argmin()]),
        np.array([mode]),
        np.zeros(2),
        key,
        stream,
        time,
        deadline,
        np.zeros(shadows, np.int64),
        np.zeros(shadows),
        np.array([min(round(share * 2**53), 2**53)], np.uint64),
        np.array([setup.together]),
        np.array([setup.problem == CACHING]),
    )


class HeebState(NamedTuple):
    """What is known of the streams, and the held slots."""

    tables: benefits.BenefitTables
    plan: benefits.FitPlan
    history: History
    alphas: Alphas
    members: sets.Members
    since: np.ndarray  # int64[capacity]: arrivals of the other stream when a tuple came
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    sides: np.ndarray  # int64[joins, sides, 2]: (stream, attribute) of each side, -1 pads
    began: np.ndarray  # int64[1]: the time of the first arrival
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected


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

    `model` is a family (stationary, trend, walk, ar1, seasonal), or auto: the given model, or else
    the best family. `L` is exp, fixed, inf or inv. exp has an `alpha`: a number; `lifetime`, as
    long as tuples are seen to last; or auto. With `lifetime=12.5` it follows from that mean
    lifetime. fixed looks `steps` ahead. `period` is that of a season, if it is known. With
    `fit=before` a model that is given is used whatever its family, and `penstock simulate` gives
    models fitted to the whole trace.
    """
    shape = setup.shape
    values, mode = benefits.read_alphas(setup, L, alpha, lifetime, steps)
    plan = benefits.make_plan(setup, values, model, L, period, fit)
    sides = np.full((len(shape.joins), shape.sides, 2), -1, np.int64)
    for number, join in enumerate(shape.joins):
        sides[number, : len(join)] = join
    return HeebState(
        benefits.starting_tables(setup, plan),
        plan,
        make_history(shape.streams * shape.attributes),
        make_alphas(setup, values, mode),
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
    """Read a curve at a distance; beyond its ends H is 0."""
    start, size = tables.start[series, layer], tables.shape[series, 2]
    low, step = tables.numbers[series, layout.LOW], tables.numbers[series, layout.STEP]
    place = np.int64(np.floor((offset - low) / step + 0.5))
    if place < 0 or place >= size:
        return 0.0
    return tables.worth[start + place]


@jit
def _between(tables, start, series, x, v):
    """Read a surface between its points; last values beyond it count as its edge."""
    lasts, values = tables.shape[series, 1], tables.shape[series, 2]
    numbers = tables.numbers
    along = (v - numbers[series, layout.LOW]) / numbers[series, layout.STEP]
    if along < 0 or along > values - 1:
        return 0.0
    across = (x - numbers[series, layout.X_LOW]) / numbers[series, layout.X_STEP]
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
        since = np.float64(steps) - tables.numbers[series, layout.LEVEL]
        turn = since / tables.numbers[series, layout.PERIOD]
        turn -= np.floor(turn)
        newest -= tables.season[series, np.int64(turn * benefits.PHASES) % benefits.PHASES]
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
    """Find a value of a stationary stream, by bisection."""
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
    line = tables.numbers[series, layout.LEVEL] + tables.numbers[series, layout.SLOPE] * steps
    return _on_curve(tables, series, layer, key - line)


@jit
def benefit(tables, history, series, layer, key):
    """Return H of a key, for one series."""
    form = tables.form[series]
    if form == layout.LINE:
        return _beside_line(tables, history, series, layer, key, 0.0)
    if form == layout.UNKNOWN:
        return 0.0
    if form == layout.STATIONARY:
        return _known(tables, series, layer, key)
    if history.arrived[series] == 0:
        return 0.0
    newest = np.float64(histories.newest(history, series))
    if form == layout.WALK:
        return _on_curve(tables, series, layer, key - newest)
    steps = history.arrived[series] - 1
    return _on_surface(tables, series, layer, steps, newest, np.float64(key))


@jit
def _worth(state, layer, series, key, deadline, now):
    """Return H of a tuple for one series, under one of the alphas.

    A window that ends cuts H off. For exp, what lies beyond its end is H as it will be then, times
    the chance L to be held so long. On a trend that is known; elsewhere H is assumed not to change.
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
    if tables.form[series] == layout.LINE:
        beyond = _beside_line(tables, history, series, layer, key, np.floor(left))
    return worth if beyond == 0.0 else worth - math.exp(-np.floor(left) / alpha) * beyond


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
        product = layout.gain(held, slot, leg)
        for other in range(state.sides.shape[1]):
            series = _awaited(state, join, other)
            if other != side and series >= 0:
                product *= _worth(state, layer, series, key, deadline, now)
        total += product
    return total


@jit
def _waits_for(state, stream):
    """Return the first series that a tuple of this stream can match."""
    join, side = state.legs[stream, 0, 0], state.legs[stream, 0, 1]
    return _awaited(state, join, 1 if side == 0 else 0)


# A quarter of the usual sample is five times as fast, and loses less than 1 % of the results.
choose_victim = make_choose(score, sample=16)


@jit
def _meets(alphas, shadow, place, stream, key, now):
    if alphas.key[shadow, place] != key:
        return False
    if alphas.caching[0]:
        return True
    if alphas.stream[shadow, place] == stream or alphas.deadline[shadow, place] < now:
        return False
    return not alphas.together[0] or alphas.time[shadow, place] < now


@jit
def _place_for(state, shadow, stream, key, deadline, now):
    """Return the place of the newcomer, -1 if it has the lowest score itself."""
    alphas = state.alphas
    size = alphas.key.shape[1]
    if alphas.size[shadow] < size:
        alphas.size[shadow] += 1
        return alphas.size[shadow] - 1
    place, lowest = -2, np.inf
    for each in range(-1, size):  # the newcomer first: at an equal score it is kept
        whose, what, until = stream, key, deadline
        if each >= 0:
            whose, what = alphas.stream[shadow, each], alphas.key[shadow, each]
            until = alphas.deadline[shadow, each]
        score = -1.0
        if until >= now:
            score = _worth(state, shadow, _waits_for(state, whose), what, until, now)
        if place == -2 or score < lowest:
            place, lowest = each, score
        elif score == lowest:
            if place < 0 or alphas.time[shadow, each] < alphas.time[shadow, place]:
                place = each
    return place


@jit
def _keep(state, shadow, stream, key, deadline, now):
    """Keep the newcomer, unless it has the lowest score."""
    alphas = state.alphas
    place = _place_for(state, shadow, stream, key, deadline, now)
    if place >= 0:
        alphas.key[shadow, place] = key
        alphas.stream[shadow, place] = stream
        alphas.time[shadow, place] = now
        alphas.deadline[shadow, place] = deadline


@jit
def _try_out(state, held, slot, now):
    """Show an arrival to every shadow, and use the alpha that finds clearly more."""
    alphas = state.alphas
    key = held.key[slot, 0]
    if (mix(np.uint64(key) ^ SALT) >> np.uint64(11)) >= alphas.threshold[0]:
        return
    stream, deadline = np.int64(held.at[slot]["stream"]), held.at[slot]["deadline"]
    best = alphas.chosen[0]
    for shadow in range(len(alphas.size)):
        found = 0
        for place in range(alphas.size[shadow]):
            if _meets(alphas, shadow, place, stream, key, now):
                found += 1
        alphas.found[shadow] = alphas.found[shadow] * FADE + found
        if not alphas.caching[0] or found == 0:
            mine = np.int64(0) if alphas.caching[0] else stream  # rows are held, references are not
            _keep(state, shadow, mine, key, deadline, now)
        if alphas.found[shadow] > alphas.found[best]:
            best = shadow
    if alphas.found[best] > LEAD * alphas.found[alphas.chosen[0]] + 1:
        alphas.chosen[0] = best


@jit
def _note_lifetime(alphas, steps):
    """Record for how many steps a tuple was held."""
    life = alphas.life
    life[1] = min(life[1] + 1, LIVES)
    life[0] += (steps - life[0]) / life[1]
    if alphas.mode[0] == benefits.LIFETIME:
        alpha = -1 / np.log(1 - 1 / max(life[0], 1.05))
        nearest = 0
        for layer in range(len(alphas.value)):
            if abs(np.log(alphas.value[layer] / alpha)) < abs(
                np.log(alphas.value[nearest] / alpha)
            ):
                nearest = layer
        alphas.chosen[0] = nearest


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
    _note_lifetime(state.alphas, steps)


def refresh(state: HeebState) -> HeebState:
    """Fit the models again to the last arrivals."""
    return state._replace(tables=benefits.fitted_tables(state.plan, state.history))


HEEB = Policy(
    "heeb",
    "evicts the tuple with the least expected benefit, by a model of the streams",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    on_arrival=on_arrival,
    pause=lambda state: int(state.plan.wait[0]),
    refresh=refresh,
    ordered=True,
    cost=20,
    auto={JOINING: Trial(9)},
)
