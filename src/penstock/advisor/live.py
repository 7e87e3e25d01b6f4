"""How many rows an exact join holds: those that something to come can still match."""

from typing import NamedTuple

import numpy as np

from ..numeric import Ints

FINE = 32  # bins of time within a window, where times are known by bins only


class Live(NamedTuple):
    """The rows alive at a time."""

    mean: float  # as an arriving row finds them, itself among them
    peak: int  # the most at any time: with so many the join is exact


def live_rows(time: Ints, within: int | None, weight: Ints | None = None) -> Live:
    """Return how many rows are alive; `weight` is how many rows each one stands for.

    >>> live_rows(np.array([0, 1, 2, 9]), within=1)
    Live(mean=1.5, peak=2)
    """
    weight = np.ones(len(time), np.int64) if weight is None else weight
    came = np.concatenate(([0], np.cumsum(weight)))
    gone = 0 if within is None else np.searchsorted(time, time - within, side="left")
    alive = came[1:] - came[gone]
    return Live(float(np.average(alive, weights=weight)), int(alive.max()))


def live_by_bins(rows: Ints, width: float, within: float | None) -> Live:
    """Return about how many rows are alive, from how many came in each bin of time.

    >>> live_by_bins(np.array([4, 4, 4, 4]), width=5, within=10)
    Live(mean=6.0, peak=10)
    """
    came = np.concatenate(([0.0], np.cumsum(rows)))
    edges = np.arange(len(came)) * width
    middle = edges[:-1] + width / 2
    start = np.zeros(len(middle)) if within is None else middle - within
    alive = np.interp(middle, edges, came) - np.interp(start, edges, came)
    peak = alive.max() + (width / 2 if within else 0) / width * rows[int(alive.argmax())]
    return Live(float(np.average(alive, weights=rows)), int(np.ceil(peak)))
