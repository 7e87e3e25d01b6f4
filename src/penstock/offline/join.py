"""OPT-offline: the most results that any choice of victims gets out of a memory, as one flow.

Every unit of memory is a unit of flow through time. Idle memory flows along the time line, a node
per decision point. Memory that takes a tuple in leaves the time line where the tuple arrives,
earns 1 at each of its matches, and may come back to the time line after any of them. The cheapest
flow of `budget` units, each result costing -1, is the best schedule.

Departure from the source, which gives each tuple a chain of its own, as many arcs as there are
pairs: tuples of one side and key share a *lane* of the matches ahead. That loses nothing as long as
the later tuple does not end before the earlier one: to hold the latest ones is then as good as to
hold any others, so it is enough to know *how many* are held, at most as many as are alive. Where an
end goes back a new lane begins. So the network grows with the rows and not with the pairs.

Source: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003);
section 3 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..extras import need
from .plan import SOLVER
from .reach import Reach, counted_from, find_reach


class Lanes(NamedTuple):
    """The matches ahead of the tuples that are worth keeping, lane after lane."""

    enter_point: np.ndarray  # int64[tuples]: the decision point at which each can be taken in
    enter: np.ndarray  # int64[tuples]: the first match of each
    point: np.ndarray  # int64[matches]: the decision point after each match
    alive: np.ndarray  # int64[matches]: how many tuples could be held until there
    goes_on: np.ndarray  # bool[matches]: the next match is of the same lane


def most_results(
    side, key, time, end=None, *, budget: int, together: bool = False, first: int = 0
) -> int:
    """Return the most results at the rows from `first` on that `budget` tuples of memory can give.

    The rows must be in (time, side, arrival) order; `end` and `together` are as in `find_reach`.

    >>> most_results([0, 0, 1, 1, 1], [7, 8, 8, 7, 7], [0, 1, 2, 3, 4], budget=1)
    2
    """
    if budget < 1:
        raise BadInput(f"budget must be at least 1, got {budget}")
    reach = counted_from(find_reach(side, key, time, end, together=together), first)
    wanted = np.flatnonzero(reach.stop > reach.begin)
    if len(wanted) == 0:
        return 0
    return _solve(_lanes(reach, wanted), min(budget, len(wanted)))


def _lanes(reach: Reach, wanted: np.ndarray) -> Lanes:
    begin, stop, group = reach.begin[wanted], reach.stop[wanted], reach.group[wanted]
    is_first = np.ones(len(wanted), bool)
    is_first[1:] = (group[1:] != group[:-1]) | (stop[1:] < stop[:-1])
    lane = np.cumsum(is_first) - 1
    is_last = np.append(is_first[1:], True)
    width = stop[is_last] - begin[is_first]  # both never go back within a lane
    base = np.cumsum(width) - width
    shift = base - begin[is_first]  # from a place among the rows to one among the matches
    matches = int(width.sum())
    place = np.arange(matches) - np.repeat(shift, width)
    enter, leave = begin + shift[lane], stop + shift[lane]
    change = np.bincount(enter, minlength=matches + 1) - np.bincount(leave, minlength=matches + 1)
    goes_on = np.ones(matches, bool)
    goes_on[base + width - 1] = False
    return Lanes(
        reach.point[wanted], enter, reach.point[place], np.cumsum(change)[:matches], goes_on
    )


def _solve(lanes: Lanes, budget: int) -> int:
    used = np.unique(np.concatenate((lanes.enter_point, lanes.point)))  # the time line
    matches = len(lanes.point)
    line = np.arange(len(used))
    before = len(used) + np.arange(matches)  # memory that is about to match
    after = before + matches  # and that has matched
    on = np.flatnonzero(lanes.goes_on)
    ones = np.ones(len(lanes.enter), np.int64)
    arcs = [  # tail, head, capacity, cost
        (line[:-1], line[1:], np.full(len(line) - 1, budget), 0),
        (np.searchsorted(used, lanes.enter_point), before[lanes.enter], ones, 0),
        (before, after, lanes.alive, -1),
        (after, np.searchsorted(used, lanes.point), lanes.alive, 0),
        (after[on], before[on + 1], lanes.alive[on], 0),
    ]
    flow = need(SOLVER, "the optimum of a join").SimpleMinCostFlow()
    for tail, head, capacity, cost in arcs:
        flow.add_arcs_with_capacity_and_unit_cost(
            tail.astype(np.int32), head.astype(np.int32), capacity, np.full(len(tail), cost)
        )
    flow.set_nodes_supplies(np.array([line[0], line[-1]], np.int32), np.array([budget, -budget]))
    status = flow.solve()
    if status != flow.OPTIMAL:  # idle memory is always a way, so there is a cheapest one
        raise RuntimeError(f"the flow of the optimum was not solved: {status}")
    return -int(flow.optimal_cost())
