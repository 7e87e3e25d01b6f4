"""The optimum with hindsight: the most results of a join, and the most hits of a cache.

**Joins** (OPT-offline). Every unit of memory is a unit of flow through time. Idle memory flows
along the time line, which has a node per decision point. Memory that admits a tuple leaves the time
line where the tuple arrives, gains 1 at each of its matches, and may return to the time line after
any of them. The cheapest flow of `budget` units, each result costing -1, is the best schedule.

Departure from the source, which gives each tuple a chain of its own, as many arcs as there are
pairs: tuples of one side and key share a *lane* of the matches ahead. That loses nothing as long as
the later tuple does not end before the earlier one: to hold the latest ones is then as good as to
hold any others, so it is enough to know *how many* are held, at most as many as are alive. Where an
end goes back a new lane begins. So the network grows with the rows and not with the pairs.

Source: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003);
section 3 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).

**Caches** (LFD, the longest forward distance). On a miss the key that is needed last is evicted; a
new key that is needed last itself is not admitted. With a warm-up only the references after it
count, so only they are looked forward to: no policy has more hits there.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer" (1966); LFD in
section 7.1 of Xie, Yang and Chen.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import heap as heaps
from ..core.jit import specialise
from ..errors import BadInput
from ..extras import need
from .unlimited import decision_points, first_point_after

SOLVER = "ortools.graph.python.min_cost_flow"

Arcs = tuple[np.ndarray, np.ndarray, npt.ArrayLike, npt.ArrayLike]  # tail, head, capacity, cost


def most_results(
    side, key, time, end=None, *, budget: int, together: bool = False, first: int = 0
) -> int:
    """Return the most results at the rows from `first` on that `budget` tuples of memory can give.

    The rows must be in (time, side, arrival) order; `end` and `together` are as in
    `exact_results`.

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


class Reach(NamedTuple):
    """Which arrivals each tuple matches, if it is held until it expires.

    A tuple matches the arrivals of the other side that carry its key, come after it and not after
    its end. The rows are sorted by key, side and arrival; every array is int64[n], in that order.
    So the matches of a tuple lie side by side: one range of places, found by bisection.
    """

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
            "the optimum is defined for two streams and one key; join fewer, or leave out opt"
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


def counted_from(reach: Reach, first: int) -> Reach:
    """Return the reach without the matches at rows before `first`."""
    below = np.concatenate(([0], np.cumsum(reach.row >= first)))
    # A range is in the order of arrival, so what counts lies at its end.
    return reach._replace(begin=reach.stop - (below[reach.stop] - below[reach.begin]))


class Lanes(NamedTuple):
    """The matches ahead of the tuples that are worth keeping, lane after lane."""

    enter_point: np.ndarray  # int64[tuples]: the decision point at which each can be taken in
    enter: np.ndarray  # int64[tuples]: the first match of each
    point: np.ndarray  # int64[matches]: the decision point after each match
    alive: np.ndarray  # int64[matches]: how many tuples could be held until there
    goes_on: np.ndarray  # bool[matches]: the next match is of the same lane


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
    arcs: list[Arcs] = [
        (line[:-1], line[1:], budget, 0),
        (np.searchsorted(used, lanes.enter_point), before[lanes.enter], 1, 0),
        (before, after, lanes.alive, -1),
        (after, np.searchsorted(used, lanes.point), lanes.alive, 0),
        (after[on], before[on + 1], lanes.alive[on], 0),
    ]
    flow = cheapest_flow(arcs, int(line[-1]), budget, "the optimum of a join")
    return -int(flow.optimal_cost())


def cheapest_flow(arcs: Sequence[Arcs], last: int, budget: int, what: str) -> Any:
    """Return the solver with the cheapest flow of `budget` units from node 0 to node `last`."""
    flow = need(SOLVER, what).SimpleMinCostFlow()
    for tail, head, capacity, cost in arcs:
        flow.add_arcs_with_capacity_and_unit_cost(
            tail.astype(np.int32),
            head.astype(np.int32),
            np.broadcast_to(capacity, len(tail)),
            np.broadcast_to(cost, len(tail)),
        )
    flow.set_nodes_supplies(np.array([0, last], np.int32), np.array([budget, -budget]))
    status = flow.solve()
    if status != flow.OPTIMAL:  # to leave memory idle is always possible
        raise RuntimeError(f"the flow of {what} was not solved: {status}")
    return flow


def lfd(keys: npt.ArrayLike, budget: int, *, first: int = 0) -> np.ndarray:
    """Return which references are hits: bool[n].

    The choice is the best one for the hits from the reference number `first` on.

    >>> lfd([1, 2, 3, 1, 2, 3], budget=2).tolist()
    [False, False, False, True, True, False]
    """
    if budget < 1:
        raise BadInput(f"budget must be at least 1, got {budget}")
    names, key = np.unique(np.asarray(keys, np.int64), return_inverse=True)
    hits = np.zeros(len(key), bool)
    if len(key):
        heap = heaps.make_heap(len(names), np.int64)
        _compile()(heap, key, _next_references(key, first), min(budget, len(names)), hits)
    return hits


def _next_references(key: np.ndarray, first: int) -> np.ndarray:
    """Return where each key is next referenced, at `first` or later; n: never again."""
    n = len(key)
    now = np.arange(n)
    order = np.argsort(key, kind="stable")
    places = key[order] * n + order
    following = np.searchsorted(places, key * n + np.maximum(now, first - 1), side="right")
    found = order[np.minimum(following, n - 1)]
    return np.where((following < n) & (key[found] == key), found, n)


@functools.cache
def _compile():
    """Return `run(heap, key, following, budget, hits)`; the heap has the key needed last on top."""

    def run(heap, key, following, budget, hits):
        for i in range(len(key)):
            slot, score = key[i], -following[i]
            hits[i] = heap.place[slot] != heaps.ABSENT
            if hits[i]:
                heaps.change(heap, slot, score, 0)
                continue
            if heap.size[0] == budget:
                last = heaps.lowest(heap)
                if score <= heaps.score_of(heap, last):
                    continue
                heaps.drop(heap, last)
            heaps.push(heap, slot, score, 0)

    return specialise(run)
