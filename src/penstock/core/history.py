"""What a stream brought lately: the last values, how many came, and the very last one."""

from typing import NamedTuple

import numpy as np

from .jit import jit

ROOM = 4096  # values kept of each stream


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
