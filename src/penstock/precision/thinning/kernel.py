"""What sources do with their readings and their queries, compiled for one rule.

The same steps as `Source.update` and `Source.ask` take, for sources that are rows of arrays and
have one cache each: the rules' hooks are the same text.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...core.jit import jit, specialise
from ...core.rng import uniform
from ..interval import around, ends
from ..limits import keep_off
from ..rule import ABOVE, ASKED, BELOW, SPOKE, Rule
from .state import CLOCK, HIGH, LOW, NEVER, READ, SENT, VALUE

FIRST = SPOKE + 1  # the first interval of a key; the other reasons are those of rule.py
NOTHING = -1  # no reason at all
LATE, LATE_QUERIES, UNKNOWN = 0, 1, 2  # places in a tally
SECOND = 1e6  # microseconds


class Rows(NamedTuple):
    """Readings, then queries."""

    order: np.ndarray  # int64[n]: which row comes first, second, ...
    source: np.ndarray  # int64[n]: its key's row in the state; -1: unknown
    time: np.ndarray  # int64[n]: microseconds
    number: np.ndarray  # float64[n]: the value that was read; how wide an answer may be
    rounded: np.ndarray  # bool[n]: the value is no float, and lies between the neighbours of number
    readings: int  # how many of the rows are readings


class Found(NamedTuple):
    """Refreshes, in the order in which they were sent; as many as there are rows at most."""

    row: np.ndarray  # int64[n]: which row brought it about
    time: np.ndarray  # int64[n]
    low: np.ndarray  # float64[n]
    high: np.ndarray  # float64[n]
    why: np.ndarray  # int64[n]
    used: np.ndarray  # int64[1]


@jit
def _write(found, row, now, low, high, why):
    place = found.used[0]
    found.used[0] = place + 1
    found.row[place] = row
    found.time[place] = now
    found.low[place] = low
    found.high[place] = high
    found.why[place] = why


@jit
def _ask(state, silence, s, delta, now):
    """Tell whether a query must be sent on: the interval is too wide, or no longer trusted."""
    lost = now - state.when[s, SENT] > silence
    return ASKED if lost or _wider(state.now[s, LOW], state.now[s, HIGH], delta) else NOTHING


@jit
def _wider(low, high, delta):
    """Tell whether an interval is wider than δ, be it by less than rounding would show."""
    width = high - low
    if width != delta or math.isinf(width):
        return width > delta
    there = width - high
    return (high - (width - there)) - (low + there) > 0  # what was rounded off


@functools.cache
def compile_thin(rule: Rule) -> Any:
    """Return the kernel: it takes one row after another."""
    on_update, on_refresh, shape = rule.on_update, rule.on_refresh, rule.shape

    @jit
    def update(par, state, silence, s, value, rounded, now):
        """Take a reading, and tell why a refresh must follow, if one must."""
        changed = value != state.now[s, VALUE]
        state.now[s, VALUE] = value
        state.rounded[s] = rounded
        if state.when[s, READ] == NEVER:
            return FIRST
        if changed:
            on_update(par, state.memory[s], value, now / SECOND)
        least, most = ends(value, rounded)
        if most > state.now[s, HIGH]:
            return ABOVE
        if least < state.now[s, LOW]:
            return BELOW
        return SPOKE if now - state.when[s, SENT] >= silence else NOTHING

    @jit
    def refresh(par, state, limits, s, why, now, need):
        """Let the rule learn, and make the next interval."""
        value = state.now[s, VALUE]
        told = SPOKE if why == FIRST else why
        draw = uniform(state.rng[s])
        on_refresh(par, state.memory[s], told, value, now / SECOND, need, draw)
        low, high, _, _, _ = shape(par, state.memory[s], value)
        low, high = keep_off(low, high, value, limits)
        low, high = around(low, high, value, state.rounded[s])
        state.now[s, LOW] = low
        state.now[s, HIGH] = high
        state.when[s, SENT] = now
        return low, high

    def run(par, state, limits, silence, rows, found, tally):
        """Take all rows; those older than the last reading of their key are late, and only counted.

        A reading that is older than a query which was served already is taken at that query's time:
        it is news all the same, and refreshes must not go back in time.
        """
        for i in range(len(rows.order)):
            row = rows.order[i]
            s, is_query = rows.source[row], row >= rows.readings
            if s < 0 or (is_query and state.when[s, READ] == NEVER):
                tally[UNKNOWN] += 1
                continue
            if rows.time[row] < state.when[s, READ]:
                tally[LATE_QUERIES if is_query else LATE] += 1
                continue
            now = max(rows.time[row], state.when[s, CLOCK])
            if is_query:
                need = rows.number[row]
                why = _ask(state, silence, s, need, now)
            else:
                need = 0.0
                why = update(par, state, silence, s, rows.number[row], rows.rounded[row], now)
                state.when[s, READ] = rows.time[row]
            state.when[s, CLOCK] = now
            if why != NOTHING:
                low, high = refresh(par, state, limits, s, why, now, need)
                _write(found, row, now, low, high, why)

    return specialise(run)
