"""The most rows that any choice of victims matches with some partner, as an integer program.

A tuple that is held up to its first partner matches itself and that partner; held on, it matches
the partners that follow. A row is matched if it, or one of its earlier partners, is held long
enough. So there is a variable for each tuple and partner: whether the tuple is held until that
partner comes; and one for each row: whether it is matched. After every decision point at most
`budget` tuples are held.

Beyond its first partner a tuple must be held only until the next one of its side and key comes,
if that one does not end sooner: to hold the next one instead serves the later partners as well; and
if the next one was not to be held, it finds its own first partner where the tuple would have. So
the program grows with the rows and not with the pairs.
"""

from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import BadInput
from penstock.extras import need
from penstock.simulate.optimum import Reach, find_reach


class Stays(NamedTuple):
    """What can be decided: to hold a tuple until some partner comes, if until those before."""

    holder: np.ndarray  # int64[stays]: the place of the tuple, in the order of `Reach`
    partner: np.ndarray  # int64[stays]: the place of the partner
    start: np.ndarray  # int64[stays]: the decision point from which this takes memory
    stop: np.ndarray  # int64[stays]: and at which it no longer does
    is_first: np.ndarray  # bool[stays]: the partner is the tuple's first


def most_rows(
    side: ArrayLike,
    key: ArrayLike,
    time: ArrayLike,
    end: ArrayLike | None = None,
    *,
    budget: int,
    together: bool = False,
    first: int = 0,
    relaxed: bool = False,
) -> int:
    """Return how many of the rows from `first` on can be in a result, with `budget` tuples held.

    The rows must be in (time, side, arrival) order; `end` and `together` are as in `find_reach`.
    An integer program takes seconds for a thousand rows, and may take very long for more. With
    `relaxed` tuples may be held in part: what that gives is never too low, was at most 3 % too high
    where both are known, and takes seconds for ten thousand rows.

    >>> most_rows([0, 0, 1, 1, 1], [7, 8, 8, 7, 7], [0, 1, 2, 3, 4], budget=1)
    3
    """
    if budget < 1:
        raise BadInput(f"budget must be at least 1, got {budget}")
    reach = find_reach(side, key, time, end, together=together)
    stays = _stays(reach)
    if len(stays.holder) == 0:
        return 0
    return _solve(stays, reach, budget, reach.row >= first, not relaxed)


def _stays(reach: Reach) -> Stays:
    count = _worthwhile(reach)
    holder = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(holder)) - np.repeat(np.cumsum(count) - count, count)
    partner = reach.begin[holder] + nth
    is_first = nth == 0
    start = np.where(is_first, reach.point[holder], reach.point[np.maximum(partner - 1, 0)])
    return Stays(holder, partner, start, reach.point[partner], is_first)


def _worthwhile(reach: Reach) -> np.ndarray:
    """Return until how many partners each tuple may have to be held."""
    count = reach.stop - reach.begin
    for place in range(len(count) - 1):
        after = place + 1
        while after < len(count) and reach.group[after] == reach.group[place]:
            if reach.stop[after] >= reach.stop[place]:
                between = max(1, reach.begin[after] - reach.begin[place])
                count[place] = min(count[place], between)
                break
            after += 1
    return count


def _solve(stays: Stays, reach: Reach, budget: int, counts: np.ndarray, whole: bool) -> int:
    """Maximise the matched rows; the variables are stays, then rows, then memory in use."""
    optimize = need("scipy.optimize", "the optimum for rows")
    sparse = need("scipy.sparse", "the optimum for rows")
    number, rows, points = len(stays.holder), len(reach.row), int(reach.point.max()) + 1
    stay = np.arange(number)

    def matrix(lines: int, *parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Any:
        """Return constraints with parts of (line, variable, factor)."""
        line, variable, factor = (np.concatenate(each) for each in zip(*parts, strict=True))
        return sparse.coo_array((factor, (line, variable)), (lines, number + rows + points))

    ones = np.ones(number)
    later = np.flatnonzero(~stays.is_first)
    # A tuple is held until a partner only if until the one before.
    in_turn = matrix(
        len(later),
        (np.arange(len(later)), later, ones[later]),
        (np.arange(len(later)), later - 1, -ones[later]),
    )
    # A row is matched only if some earlier partner is held until it, or it until its first partner.
    first = np.flatnonzero(stays.is_first)
    matched = matrix(
        rows,
        (np.arange(rows), number + np.arange(rows), np.ones(rows)),
        (stays.partner, stay, -ones),
        (stays.holder[first], first, -ones[first]),
    )
    # The memory in use changes by the stays that begin and end at a decision point.
    used = number + rows + np.arange(points)
    memory = matrix(
        points,
        (np.arange(points), used, np.ones(points)),
        (np.arange(1, points), used[:-1], -np.ones(points - 1)),
        (stays.start, stay, -ones),
        (stays.stop, stay, ones),
    )
    constraints = sparse.vstack([in_turn, matched, memory])
    low = np.concatenate((np.full(len(later) + rows, -np.inf), np.zeros(points)))
    found = optimize.milp(
        np.concatenate((np.zeros(number), -counts.astype(float), np.zeros(points))),
        integrality=np.repeat([whole, False, False], [number, rows, points]),
        bounds=optimize.Bounds(0, np.repeat([1, 1, budget], [number, rows, points])),
        constraints=optimize.LinearConstraint(constraints, low, np.zeros(len(low))),
    )
    if found.x is None:  # to hold nothing is always a way
        raise RuntimeError(f"the optimum was not found: {found.message}")
    return floor(-found.fun + 1e-6)
