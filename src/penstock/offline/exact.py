"""How many results an unlimited memory gives, at every row and in every shape of join.

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


def _count(join, side, keys, point, gone, found) -> None:
    """Write into `found` what the rows of one join complete."""
    legs = [np.flatnonzero(side == stream) for stream, _ in join]
    values = [keys[leg, attribute] for leg, (_, attribute) in zip(legs, join, strict=True)]
    rows = np.concatenate(legs)
    if len(rows) == 0:
        return
    group = np.zeros(len(side), np.int64)
    group[rows] = np.unique(np.concatenate(values), return_inverse=True)[1]
    span = int(point[-1]) + 2  # one more than the points, for those that outlive them all
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
