"""Which arrivals each tuple of a join matches, if it is held for as long as it lives.

A tuple matches the arrivals of the other side that carry its key, come after it and not after its
end. Sorted by key, side and arrival these rows lie side by side: however many pairs there are, the
matches of a tuple are one range of places, found by bisection.

A decision point is a moment at which victims are chosen: after every row, or in the discrete-time
model (`together`) after every step, whose rows do not see each other.
"""

from typing import NamedTuple

import numpy as np

from ..errors import BadInput


class Reach(NamedTuple):
    """The rows sorted by key, side and arrival; every array is int64[n], in that order."""

    row: np.ndarray  # which row it is
    group: np.ndarray  # its key and side: 2 x key number + side
    point: np.ndarray  # its decision point
    begin: np.ndarray  # the first place that it matches
    stop: np.ndarray  # the first place after those that it matches


def find_reach(side, key, time, end=None, *, together: bool = False) -> Reach:
    """Return what each row matches; the rows must be in (time, side, arrival) order.

    `end` is the last time at which each row can match; None: there is no limit.

    >>> found = find_reach(side=[0, 1, 0, 1], key=[7, 7, 7, 7], time=[0, 1, 2, 3], end=[2, 9, 9, 9])
    >>> found.row.tolist(), (found.stop - found.begin).tolist()
    ([0, 2, 1, 3], [1, 1, 1, 0])
    """
    side, key, time = (np.asarray(column, np.int64) for column in (side, key, time))
    if key.ndim != 1 or (len(side) and side.max() > 1):
        raise BadInput(
            "the optimum is known for two streams and one key; join fewer, or leave out opt"
        )
    rows = np.arange(len(time))
    point = decision_points(time, together)
    limit = first_point_after(time, point, end)
    group = 2 * np.unique(key, return_inverse=True)[1] + side
    order = np.lexsort((rows, group))
    group, point, limit = group[order], point[order], limit[order]
    span = int(point.max(initial=-1)) + 2
    places = group * span + point
    other = (group ^ 1) * span
    begin = np.searchsorted(places, other + point, side="right")
    stop = np.searchsorted(places, other + limit, side="left")
    return Reach(order, group, point, begin, np.maximum(begin, stop))


def decision_points(time: np.ndarray, together: bool) -> np.ndarray:
    """Return the number of each row's decision point, from 0.

    >>> decision_points(np.array([3, 3, 8]), together=True).tolist()
    [0, 0, 1]
    """
    is_point = np.ones(len(time), bool)
    if together:
        is_point[1:] = time[1:] != time[:-1]
    return np.cumsum(is_point) - 1


def first_point_after(time: np.ndarray, point: np.ndarray, end) -> np.ndarray:
    """Return the first decision point at which each row is dead; one past the last: at none.

    >>> first_point_after(np.array([3, 4, 8]), np.arange(3), [4, 4, 9]).tolist()
    [2, 2, 3]
    """
    points = int(point.max(initial=-1)) + 1
    if end is None:
        return np.full(len(time), points)
    first_rows = np.flatnonzero(np.diff(point, prepend=-1))
    return np.searchsorted(time[first_rows], np.asarray(end, np.int64), side="right")


def counted_from(reach: Reach, first: int) -> Reach:
    """Return the reach without the matches at rows before `first`."""
    below = np.concatenate(([0], np.cumsum(reach.row >= first)))
    # A range is in the order of arrival, so what counts lies at its end.
    return reach._replace(begin=reach.stop - (below[reach.stop] - below[reach.begin]))
