"""The results of an unlimited memory, at every row and in every shape of join; the rows it matches.

A row completes a result with each way to take one tuple that has not expired from every other side
of its join: as many as the product of how many of its key are alive there. Two sorted columns of
each side, of arrivals and of expirations, give the number alive at any row by bisection. So the
cost grows with the rows and the sides, and not with the results, which may be too many to visit in
a skewed trace without a window.

It is enough that all others are alive: each of them has arrived by now and ends no earlier, so now
is a time that all of them share.

A decision point is a time at which victims are chosen: after every row, or in the discrete-time
model (`together`) after every step, whose rows do not see each other.
"""

import functools

import numpy as np

from ..core.shape import TWO_WAY, Joins, Shape
from ..errors import BadInput
from .arrivals import arrivals
from .traces import JoinTrace, Trace

MOST = 2.0**62  # results that are safe to add up


@functools.lru_cache(maxsize=2)
def full_results(trace: Trace, within: int | None, first: int) -> int:
    """Return the join results at the rows from `first` on, or the hits of an unlimited cache."""
    if isinstance(trace, JoinTrace):
        return int(results_at(trace, within)[:, first:].sum())
    first_seen = np.unique(trace.key, return_index=True)[1]
    return len(trace) - first - int((first_seen >= first).sum())


@functools.lru_cache(maxsize=2)
def full_matched(trace: JoinTrace, within: int | None, first: int) -> int:
    """Return how many rows are in a result for the first time at the rows from `first` on."""
    rows = arrivals(trace, within)
    at = first_matches(*rows, joins=trace.joins, together=trace.together)
    return int(((at >= first) & (at < len(trace))).sum())


@functools.lru_cache(maxsize=1)
def results_at(trace: JoinTrace, within: int | None) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes."""
    rows = arrivals(trace, within)
    return exact_results(*rows, joins=trace.joins, together=trace.together)


def exact_results(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False
) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes.

    The rows must be in (time, side, arrival) order. `end` is the last time at which each row can
    match; None: there is no limit.

    >>> exact_results([0, 0, 1, 1], [7, 7, 7, 8], [0, 1, 2, 3]).tolist()
    [[0, 0, 2, 0]]
    >>> exact_results([0, 1, 2], [7, 7, 7], [0, 1, 2], joins=(((0, 0), (1, 0), (2, 0)),)).sum()
    np.int64(1)
    """
    found = np.zeros((len(joins), len(side)), np.int64)
    for number, legs, came, left in _by_join(side, key, time, end, joins, together):
        rows = np.concatenate(legs)
        found[number, rows] = 1
        most = np.zeros(len(side))
        most[rows] = 1.0
        for leg in legs:
            others = np.concatenate([each for each in legs if each is not leg])
            # Every key has as many expirations as arrivals, so the keys before it cancel out.
            alive = np.searchsorted(np.sort(came[leg]), came[others], side="left")
            alive -= np.searchsorted(np.sort(left[leg]), came[others], side="right")
            found[number, others] *= alive
            most[others] *= alive
        if most.sum() > MOST:
            raise BadInput("there are more results than 64 bits can count; shorten the window")
    return found


def first_matches(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False
) -> np.ndarray:
    """Return int64[rows]: at whose arrival each row is in a result for the first time.

    A row that is in none has the number of rows. The arguments are those of `exact_results`. An
    arrival that completes a result does so with all rows of its key that are alive on other sides.

    >>> first_matches([0, 0, 1, 1, 0], [7, 7, 7, 8, 7], [0, 1, 2, 3, 4]).tolist()
    [2, 2, 2, 5, 4]
    """
    completed = exact_results(side, key, time, end, joins=joins, together=together) > 0
    none = len(side)
    first = np.where(completed.any(axis=0), np.arange(none), none)
    for number, legs, came, left in _by_join(side, key, time, end, joins, together):
        for leg in legs:
            others = np.concatenate([each for each in legs if each is not leg])
            others = others[completed[number, others]]
            others = others[np.lexsort((others, came[others]))]
            after = np.searchsorted(came[others], came[leg], side="right")
            is_met = np.append(came[others], np.iinfo(np.int64).max)[after] < left[leg]
            met = np.append(others, none)[after]
            first[leg] = np.minimum(first[leg], np.where(is_met, met, none))
    return first


def _by_join(side, key, time, end, joins: Joins, together: bool):
    """Yield for each join its number, the rows of each leg, and when each row comes and leaves.

    Both are numbers that order the rows by key and then by decision point.
    """
    side, time = np.asarray(side, np.int64), np.asarray(time, np.int64)
    keys = np.asarray(key, np.int64).reshape(len(side), Shape(joins).attributes)
    point = decision_points(time, together)
    gone = first_point_after(time, point, end)
    span = int(point.max(initial=-1)) + 2  # one more, for rows that never expire
    for number, join in enumerate(joins):
        legs = [np.flatnonzero(side == stream) for stream, _ in join]
        values = [keys[leg, attribute] for leg, (_, attribute) in zip(legs, join, strict=True)]
        group = np.zeros(len(side), np.int64)
        group[np.concatenate(legs)] = np.unique(np.concatenate(values), return_inverse=True)[1]
        yield number, legs, group * span + point, group * span + gone


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
    """Return the first decision point at which each row has expired; one past the last: at none.

    >>> first_point_after(np.array([3, 4, 8]), np.arange(3), [4, 4, 9]).tolist()
    [2, 2, 3]
    """
    points = int(point.max(initial=-1)) + 1
    if end is None:
        return np.full(len(time), points)
    first_rows = np.flatnonzero(np.diff(point, prepend=-1))
    return np.searchsorted(time[first_rows], np.asarray(end, np.int64), side="right")
