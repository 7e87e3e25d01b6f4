"""The discrete-event simulator, compiled for one rule.

Time goes in steps for a generated walk, from reading to reading for a recorded series. At one time
updates come before queries. A value that has left the interval that its source last sent to a cache
is refreshed at once: at the cost of a message, and whether or not the cache still holds it, for the
source is not told of evictions.

A query picks its sources at random and its constraint δ from [δ_min, δ_max]. A SUM refreshes the
widest intervals until the widths of the others add up to at most δ; a MAX refreshes those whose
upper bound exceeds the largest lower bound by more than δ. Intervals that the cache has let go are
infinitely wide.

Sources: the precision paper, section 4.1; Olston, Widom, "Offering a precision-performance tradeoff
for aggregation queries over replicated data" (2000) for the choice of refreshes.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.jit import jit, specialise
from ...core.rng import below, uniform
from ..interval import moved
from ..rule import ABOVE, ASKED, BELOW, WIDTH, Rule
from .state import ASKED as ASKS
from .state import HIGH, LOW, QUERIES, VALUES, WIDTHS

LOG = np.dtype(
    [
        ("time", np.float64),
        ("cache", np.int64),
        ("source", np.int64),
        ("why", np.int64),
        ("value", np.float64),
        ("low", np.float64),
        ("high", np.float64),
        ("width", np.float64),
    ]
)


class Walk(NamedTuple):
    """Random walks: every step up or down by a uniform amount."""

    small: float = 0.5  # the smallest step
    large: float = 1.5
    up: float = 0.5  # the probability of a step upwards


class Rows(NamedTuple):
    """Recorded readings, in the order of time."""

    time: np.ndarray  # float64[n]
    source: np.ndarray  # int64[n]
    value: np.ndarray  # float64[n]


NO_ROWS = Rows(np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


class Log(NamedTuple):
    """Refreshes as they happened, as many as there is room for."""

    row: np.ndarray  # LOG[room]
    used: np.ndarray  # int64[1]


def make_log(room: int) -> Log:
    """Return an empty log."""
    return Log(np.zeros(room, LOG), np.zeros(1, np.int64))


@jit
def _write(log, now, c, s, why, state):
    place = log.used[0]
    if place < log.row.shape[0]:
        log.used[0] = place + 1
        log.row[place]["time"] = now
        log.row[place]["cache"] = c
        log.row[place]["source"] = s
        log.row[place]["why"] = why
        log.row[place]["value"] = state.value[s]
        log.row[place]["low"] = state.low[c, s]
        log.row[place]["high"] = state.high[c, s]
        log.row[place]["width"] = state.memory[c, s, WIDTH]


@jit
def _widest_kept(state, c):
    """Return which source cache c would let go, and how many it holds."""
    worst, held = -1, 0
    for s in range(state.value.shape[0]):
        if state.kept[c, s]:
            held += 1
            if worst < 0 or state.rank[c, s] > state.rank[c, worst]:
                worst = s
    return worst, held


@jit
def _pick(state, load, c):
    """Bring the sources of a query to the front of the pool."""
    sources = state.value.shape[0]
    if load.asked < sources:
        for i in range(load.asked):
            j = i + below(state.query_rng[c], sources - i)
            state.pool[c, i], state.pool[c, j] = state.pool[c, j], state.pool[c, i]


@jit
def _constraint(state, load, c):
    """Draw δ."""
    return load.low + uniform(state.query_rng[c]) * (load.high - load.low)


def _keeper(rule: Rule) -> Callable:
    """Return the function that decides whether a cache keeps what it was sent."""
    told = rule.told

    @jit
    def keep(state, load, c, s):
        if load.capacity >= state.value.shape[0] or state.kept[c, s]:
            return
        worst, held = _widest_kept(state, c)
        gone = -1
        if held >= load.capacity:
            ahead = held > 0 and state.rank[c, worst] > state.rank[c, s]
            gone = worst if ahead else s
            state.kept[c, gone] = False
        if gone != s:
            state.kept[c, s] = True
        if told and gone >= 0:  # the source need not keep it valid any longer
            state.low[c, gone] = -np.inf
            state.high[c, gone] = np.inf

    return keep


def _refresher(rule: Rule) -> tuple[Callable, Callable]:
    """Return the functions that look at an interval as it is now, and send another one."""
    on_refresh, shape, rank, moves = rule.on_refresh, rule.shape, rule.rank, rule.moves
    keep = _keeper(rule)

    @jit
    def bounds(state, c, s, now):
        low, high = state.low[c, s], state.high[c, s]
        if moves:
            motion = state.motion[c, s]
            return moved(low, high, now - state.at[c, s], motion[0], motion[1], motion[2])
        return low, high

    @jit
    def refresh(par, state, load, c, s, now, why, need, log):
        memory = state.memory[c, s]
        if now > state.since[c, s]:  # no time at an infinite width is not a number
            state.tally[c, WIDTHS] += memory[WIDTH] * (now - state.since[c, s])
            state.since[c, s] = now
        draw = uniform(state.rule_rng[c])
        on_refresh(par, memory, why, state.value[s], now, need, draw)
        low, high, drift, spread, power = shape(par, memory, state.value[s])
        state.low[c, s] = low
        state.high[c, s] = high
        state.rank[c, s] = rank(par, memory)
        if moves:
            state.at[c, s] = now
            state.motion[c, s, 0] = drift
            state.motion[c, s, 1] = spread
            state.motion[c, s, 2] = power
        state.tally[c, ASKS if why == ASKED else VALUES] += 1
        _write(log, now, c, s, why, state)
        keep(state, load, c, s)

    return bounds, refresh


def _updater(rule: Rule) -> tuple[Callable, Callable]:
    """Return the functions that refresh what is invalid, and give a source its next value."""
    on_update = rule.on_update
    bounds, refresh = _refresher(rule)

    @jit
    def check(par, state, load, c, s, now, log):
        low, high = bounds(state, c, s, now)
        value = state.value[s]
        if value > high or value < low:
            refresh(par, state, load, c, s, now, ABOVE if value > high else BELOW, 0.0, log)

    @jit
    def update(par, state, load, s, value, now, log):
        changed = value != state.value[s]
        state.value[s] = value
        for c in range(state.low.shape[0]):
            if changed:
                on_update(par, state.memory[c, s], value, now)
            check(par, state, load, c, s, now, log)

    return check, update


def _asker(rule: Rule) -> Callable:
    """Return the function that asks all the queries that are due."""
    on_read, moves = rule.on_read, rule.moves
    bounds, refresh = _refresher(rule)
    check, _ = _updater(rule)

    @jit
    def look(state, load, c, now):
        """Note what the cache knows; refreshes of this query may change what it holds."""
        for i in range(load.asked):
            s = state.pool[c, i]
            low, high = bounds(state, c, s, now)
            state.seen[i, LOW] = low if state.kept[c, s] else -np.inf
            state.seen[i, HIGH] = high if state.kept[c, s] else np.inf

    @jit
    def add_up(par, state, load, c, delta, now, log):
        """Refresh the widest, until the widths of the others add up to δ at most."""
        width = state.seen[:, HIGH]
        for i in range(load.asked):
            width[i] -= state.seen[i, LOW]
        while True:
            widest, left = 0, 0.0
            for i in range(load.asked):
                left += width[i]
                if width[i] > width[widest]:
                    widest = i
            if left <= delta:
                break
            if width[widest] == np.inf:
                need = delta / load.asked
            else:  # had all been narrower in proportion, this one would not have been refreshed
                need = width[widest] * delta / left
            width[widest] = 0.0
            refresh(par, state, load, c, state.pool[c, widest], now, ASKED, need, log)

    @jit
    def find_largest(par, state, load, c, delta, now, log):
        """Refresh whoever may exceed the largest lower bound by more than δ."""
        floor = -np.inf
        for i in range(load.asked):
            floor = max(floor, state.seen[i, LOW])
        for i in range(load.asked):
            low, high = state.seen[i, LOW], state.seen[i, HIGH]
            if high > floor + delta:
                known = high < np.inf or low > -np.inf
                need = max(high - low - 2 * (high - floor - delta), delta) if known else delta
                refresh(par, state, load, c, state.pool[c, i], now, ASKED, need, log)

    @jit
    def ask(par, state, load, before, log):
        """Ask what is due before a time."""
        for c in range(state.low.shape[0]):
            while state.next_query[c] < before:
                now = state.next_query[c]
                state.next_query[c] += load.period
                state.tally[c, QUERIES] += 1
                _pick(state, load, c)
                delta = _constraint(state, load, c)
                need = delta if load.extreme else delta / load.asked
                for i in range(load.asked):
                    s = state.pool[c, i]
                    if moves:  # the source sees by itself that time made it invalid
                        check(par, state, load, c, s, now, log)
                    on_read(par, state.memory[c, s], need, now)
                look(state, load, c, now)
                if load.extreme:
                    find_largest(par, state, load, c, delta, now, log)
                else:
                    add_up(par, state, load, c, delta, now, log)

    return ask


@jit
def _step(state, walk):
    """Draw the next step: one number tells both its direction and its size."""
    draw = uniform(state.steps_rng)
    up = draw < walk.up
    share = draw / walk.up if up else (draw - walk.up) / (1 - walk.up)
    size = walk.small + (walk.large - walk.small) * share
    return size if up else -size


@functools.cache
def compile_run(rule: Rule) -> Any:
    """Return the kernel: it takes one update after another, and asks the queries in between.

    Walks are numbered step by step, in each step source by source; recorded readings row by row.
    """
    _, update = _updater(rule)
    ask = _asker(rule)

    def run(par, state, load, walk, recorded, rows, first, last, until, log):
        """Take the updates from `first` to before `last`, then ask what is due before `until`."""
        sources = state.value.shape[0]
        step, s = first // sources, first % sources - 1
        for i in range(first, last + 1):
            s += 1
            if s == sources:
                step, s = step + 1, 0
            now = until
            if i < last:
                now = rows.time[i] if recorded else step + 1.0
            ask(par, state, load, now, log)
            if i == last:
                break
            if recorded:
                update(par, state, load, rows.source[i], rows.value[i], now, log)
            else:
                update(par, state, load, s, state.value[s] + _step(state, walk), now, log)

    return specialise(run)
