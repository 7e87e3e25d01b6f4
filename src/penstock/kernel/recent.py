"""What a stream brought lately: the last values, and where a key came among the last arrivals.

A `History` is a ring of values. A `Recent` finds the arrivals of a key in one without a search:
arrivals whose keys fall into the same cell of a small hash table are chained, the latest first. A
chain leads only back in time, so a walk along it stops at the first link that is too old, and
nothing ever has to be taken out.
"""

from typing import NamedTuple

import numpy as np

from .jit import jit
from .rng import mix

ROOM = 4096  # values kept of each stream
ROOM_TO_SEARCH = 8192  # arrivals kept of each line where keys are searched for; a power of two
CHAIN = 8  # arrivals that a cell is made for


class History(NamedTuple):
    """One row per series; a series is one attribute of one stream."""

    value: np.ndarray  # int64[series, ROOM]: a ring
    arrived: np.ndarray  # int64[series]: how many came


def make_history(series: int, room: int = ROOM) -> History:
    """Return the history of streams that have not begun."""
    return History(np.zeros((series, room), np.int64), np.zeros(series, np.int64))


@jit
def note(history, series, value):
    """Take note of the next value."""
    history.value[series, history.arrived[series] % history.value.shape[1]] = value
    history.arrived[series] += 1


@jit
def newest(history, series):
    """Return the last value; there must be one."""
    return history.value[series, (history.arrived[series] - 1) % history.value.shape[1]]


def recent(history: History, series: int) -> np.ndarray:
    """Return the values that are kept, oldest first."""
    count, room = int(history.arrived[series]), history.value.shape[1]
    if count <= room:
        return history.value[series, :count].copy()
    return np.roll(history.value[series], -(count % room))


class Recent(NamedTuple):
    """One row per line; a line is one side of one join."""

    history: History
    back: np.ndarray  # int32[lines, room]: arrivals since the last one in its cell; 0: too many
    head: np.ndarray  # int64[lines, cells]: the number of the last arrival, from 1; 0: none


def make_recent(lines: int, room: int = ROOM_TO_SEARCH) -> Recent:
    """Return what is known before anything has come; the room is a power of two."""
    return Recent(
        make_history(lines, room),
        np.zeros((lines, room), np.int32),
        np.zeros((lines, room // CHAIN), np.int64),
    )


@jit
def _cell(recent, key):
    return np.int64(mix(np.uint64(key)) & np.uint64(recent.head.shape[1] - 1))


@jit
def note_arrival(recent, line, key):
    """Take note of the next arrival."""
    cell, number = _cell(recent, key), recent.history.arrived[line] + 1
    room = recent.back.shape[1]
    gap = number - recent.head[line, cell]
    chained = recent.head[line, cell] > 0 and gap < room
    recent.back[line, (number - 1) & (room - 1)] = gap if chained else 0
    recent.head[line, cell] = number
    note(recent.history, line, key)


@jit
def latest(recent, line, key):
    """Return the number of the last arrival in the cell of a key; 0: there was none."""
    return recent.head[line, _cell(recent, key)]


@jit
def earlier(recent, line, number):
    """Return the number of the arrival before this one in its cell; 0: there was none."""
    gap = recent.back[line, (number - 1) & (recent.back.shape[1] - 1)]
    return number - gap if gap > 0 else np.int64(0)


@jit
def is_of(recent, line, number, key):
    """Tell whether an arrival had this key: others may share its cell."""
    return recent.history.value[line, (number - 1) & (recent.back.shape[1] - 1)] == key


@jit
def lag_of(recent, line, number):
    """Return how long ago an arrival was: 1 for the last one."""
    return recent.history.arrived[line] + 1 - number


@jit
def weigh(recent, line, key, weight, reach):
    """Return the sum of weight[line, lag - 1] over the lags at which the key came; if any, True.

    Only lags up to reach[line] count; it is smaller than the room.
    """
    total, found = 0.0, False
    number = latest(recent, line, key)
    while number > 0 and lag_of(recent, line, number) <= reach[line]:
        if is_of(recent, line, number, key):
            total += weight[line, lag_of(recent, line, number) - 1]
            found = True
        number = earlier(recent, line, number)
    return total, found
