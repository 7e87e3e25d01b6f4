"""What an unlimited memory gives, at every row and in every shape of join: results, rows matched.

A row completes a result with each way to take one living tuple from every other side of its join:
as many as the product of how many of its key are alive there. Two sorted columns of each side, one
of arrivals and one of deaths, tell how many are alive at any row by bisection; so the cost grows
with the rows and the sides, and not with the results, of which a skewed trace without a window has
more than anybody can visit.

That all others be alive is all that is asked: each of them has come by now and ends no earlier, so
now is a moment that all of them share.
"""

import numpy as np

from ..core.shape import TWO_WAY, Joins, Shape
from ..errors import BadInput
from .reach import decision_points, first_point_after

MOST = 2.0**62  # results that are safe to add up


def exact_results(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False
) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes.

    The rows must be in (time, side, arrival) order; `end` and `together` are as in `find_reach`.

    >>> exact_results([0, 0, 1, 1], [7, 7, 7, 8], [0, 1, 2, 3]).tolist()
    [[0, 0, 2, 0]]
    >>> exact_results([0, 1, 2], [7, 7, 7], [0, 1, 2], joins=(((0, 0), (1, 0), (2, 0)),)).sum()
    np.int64(1)
    """
    side, time = np.asarray(side, np.int64), np.asarray(time, np.int64)
    keys = np.asarray(key, np.int64).reshape(len(side), Shape(joins).attributes)
    point = decision_points(time, together)
    gone = first_point_after(time, point, end)
    found = np.zeros((len(joins), len(side)), np.int64)
    for number, join in enumerate(joins):
        _count(join, side, keys, point, gone, found[number])
    return found


def first_matches(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False
) -> np.ndarray:
    """Return int64[rows]: at whose arrival each row is in a result for the first time.

    A row that is in none has the number of rows. The arguments are those of `exact_results`. An
    arrival that completes a result does so with all that live of its key on the other sides.

    >>> first_matches([0, 0, 1, 1, 0], [7, 7, 7, 8, 7], [0, 1, 2, 3, 4]).tolist()
    [2, 2, 2, 5, 4]
    """
    completed = exact_results(side, key, time, end, joins=joins, together=together) > 0
    side, time = np.asarray(side, np.int64), np.asarray(time, np.int64)
    keys = np.asarray(key, np.int64).reshape(len(side), Shape(joins).attributes)
    point = decision_points(time, together)
    gone = first_point_after(time, point, end)
    first = np.where(completed.any(axis=0), np.arange(len(side)), len(side))
    for join, completes in zip(joins, completed, strict=True):
        legs, group, span = _by_key(join, side, keys, point)
        for leg in legs:
            others = np.concatenate([each for each in legs if each is not leg])
            others = others[completes[others]]
            others = others[np.lexsort((others, group[others]))]
            came = group[others] * span + point[others]
            after = np.searchsorted(came, group[leg] * span + point[leg], side="right")
            is_met = np.append(came, np.iinfo(np.int64).max)[after] < group[leg] * span + gone[leg]
            met = np.append(others, len(side))[after]
            first[leg] = np.minimum(first[leg], np.where(is_met, met, len(side)))
    return first


def _by_key(join, side, keys, point) -> tuple[list[np.ndarray], np.ndarray, int]:
    """Return the rows of each leg, the number of each row's key, and a span for its points."""
    legs = [np.flatnonzero(side == stream) for stream, _ in join]
    values = [keys[leg, attribute] for leg, (_, attribute) in zip(legs, join, strict=True)]
    group = np.zeros(len(side), np.int64)
    group[np.concatenate(legs)] = np.unique(np.concatenate(values), return_inverse=True)[1]
    return legs, group, int(point.max(initial=-1)) + 2  # one more, for those that outlive them all


def _count(join, side, keys, point, gone, found) -> None:
    """Write into `found` what the rows of one join complete."""
    legs, group, span = _by_key(join, side, keys, point)
    rows = np.concatenate(legs)
    if len(rows) == 0:
        return
    came, left = group * span + point, group * span + gone
    found[rows] = 1
    most = np.ones(len(side))
    for mine, leg in enumerate(legs):
        others = np.concatenate([each for number, each in enumerate(legs) if number != mine])
        arrivals, deaths = np.sort(came[leg]), np.sort(left[leg])
        # Every key has as many deaths as arrivals, so the keys before it cancel out.
        alive = np.searchsorted(arrivals, came[others], side="left")
        alive -= np.searchsorted(deaths, came[others], side="right")
        found[others] *= alive
        most[others] *= alive
    if most[rows].sum() > MOST:
        raise BadInput("there are more results than 64 bits can count; shorten the window")
