"""The most that can be had: results of an unlimited memory, and of a limited one with hindsight.

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

**An unlimited memory**, at every row and in every shape of join. A row completes a result with each
way to take one tuple that has not expired from every other side of its join: as many as the product
of how many of its key are alive there. Two sorted columns of each side, of arrivals and of
expirations, give the number alive at any row by bisection. So the cost grows with the rows and the
sides, and not with the results, which may be too many to visit in a skewed trace without a window.

It is enough that all others are alive: each of them has arrived by now and ends no earlier, so now
is a time that all of them share.

A decision point is a time at which victims are chosen: after every row, or in the discrete-time
model (`together`) after every step, whose rows do not see each other.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..extras import need
from ..kernel import heap as heaps
from ..kernel.jit import specialise
from ..kernel.options import at_least
from ..kernel.shape import TWO_WAY, Joins, Shape
from .traces import JoinTrace, Trace, arrivals

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


@functools.lru_cache(maxsize=2)
def results_at(trace: JoinTrace, within: int | None) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes."""
    rows = arrivals(trace, within)
    return exact_results(*rows, joins=trace.joins, together=trace.together)


def exact_results(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False, kept=None
) -> np.ndarray:
    """Return int64[joins, rows]: how many results of each join each row completes.

    The rows must be in (time, side, arrival) order. `end` is the last time at which each row can
    match; None: there is no limit. Rows that are not `kept` match as they come and never later;
    None: all are kept.

    >>> exact_results([0, 0, 1, 1], [7, 7, 7, 8], [0, 1, 2, 3]).tolist()
    [[0, 0, 2, 0]]
    >>> exact_results([0, 1, 2], [7, 7, 7], [0, 1, 2], joins=(((0, 0), (1, 0), (2, 0)),)).sum()
    np.int64(1)
    """
    found = np.zeros((len(joins), len(side)), np.int64)
    for number, legs, came, left in _by_join(side, key, time, end, joins, together, kept):
        rows = np.concatenate(legs)
        found[number, rows] = 1
        most = np.zeros(len(side))
        most[rows] = 1.0
        for leg in legs:
            others = _in_order(came, np.concatenate([each for each in legs if each is not leg]))
            # Every key has as many expirations as arrivals, so the keys before it cancel out.
            alive = np.searchsorted(np.sort(came[leg]), came[others], side="left")
            alive -= np.searchsorted(np.sort(left[leg]), came[others], side="right")
            found[number, others] *= alive
            most[others] *= alive
        if most.sum() > MOST:
            raise BadInput("there are more results than 64 bits can count; shorten the window")
    return found


def first_matches(
    side, key, time, end=None, *, joins: Joins = TWO_WAY, together: bool = False, kept=None,
    found=None,
) -> np.ndarray:  # fmt: skip
    """Return int64[rows]: at whose arrival each row is in a result for the first time.

    A row that is in none has the number of rows. The arguments are those of `exact_results`, and
    what it has `found`, if at hand. An arrival that completes a result does so with all rows of its
    key that are alive on other sides.

    >>> first_matches([0, 0, 1, 1, 0], [7, 7, 7, 8, 7], [0, 1, 2, 3, 4]).tolist()
    [2, 2, 2, 5, 4]
    """
    if found is None:
        found = exact_results(side, key, time, end, joins=joins, together=together, kept=kept)
    completed = found > 0
    none = len(side)
    first = np.where(completed.any(axis=0), np.arange(none), none)
    for number, legs, came, left in _by_join(side, key, time, end, joins, together, kept):
        for leg in legs:
            others = np.concatenate([each for each in legs if each is not leg])
            others = _in_order(came, np.sort(others[completed[number, others]]))
            mine = _in_order(came, leg)
            after = np.searchsorted(came[others], came[mine], side="right")
            is_met = np.append(came[others], np.iinfo(np.int64).max)[after] < left[mine]
            met = np.append(others, none)[after]
            first[mine] = np.minimum(first[mine], np.where(is_met, met, none))
    return first


def _in_order(came: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows as they come; to look up values in their order is many times as fast."""
    return rows[np.argsort(came[rows], kind="stable")]


def _by_join(side, key, time, end, joins: Joins, together: bool, kept):
    """Yield for each join its number, the rows of each leg, and when each row comes and leaves.

    Both are numbers that order the rows by key and then by decision point.
    """
    side, time = np.asarray(side, np.int64), np.asarray(time, np.int64)
    keys = np.asarray(key, np.int64).reshape(len(side), Shape(joins).attributes)
    point = decision_points(time, together)
    gone = first_point_after(time, point, end)
    if kept is not None:
        gone = np.where(kept, gone, point)
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
    at_least("budget", budget, 1)
    reach = counted_from(find_reach(side, key, time, end, together=together), first)
    wanted = np.flatnonzero(reach.stop > reach.begin)
    if len(wanted) == 0:
        return 0
    return _best_flow(reach, wanted, min(budget, len(wanted)))


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


def _best_flow(reach: Reach, wanted: np.ndarray, budget: int) -> int:
    """Return the gain of the cheapest flow through the lanes of the tuples that are worth keeping.

    The matches ahead of these tuples lie lane after lane.
    """
    begin, stop, group = reach.begin[wanted], reach.stop[wanted], reach.group[wanted]
    is_first = np.ones(len(wanted), bool)
    is_first[1:] = (group[1:] != group[:-1]) | (stop[1:] < stop[:-1])
    lane = np.cumsum(is_first) - 1
    is_last = np.append(is_first[1:], True)
    width = stop[is_last] - begin[is_first]  # both never go back within a lane
    base = np.cumsum(width) - width
    shift = base - begin[is_first]  # from a place among the rows to one among the matches
    matches = int(width.sum())
    enter_point = reach.point[wanted]  # the decision point at which each tuple can be taken in
    enter, leave = begin + shift[lane], stop + shift[lane]  # its first match, and after its last
    point = reach.point[np.arange(matches) - np.repeat(shift, width)]  # after each match
    change = np.bincount(enter, minlength=matches + 1) - np.bincount(leave, minlength=matches + 1)
    alive = np.cumsum(change)[:matches]  # how many tuples could be held until each match
    goes_on = np.ones(matches, bool)  # whether the next match is of the same lane
    goes_on[base + width - 1] = False
    used = np.unique(np.concatenate((enter_point, point)))  # the time line
    line = np.arange(len(used))
    before = len(used) + np.arange(matches)  # memory that is about to match
    after = before + matches  # and that has matched
    on = np.flatnonzero(goes_on)
    arcs: list[Arcs] = [
        (line[:-1], line[1:], budget, 0),
        (np.searchsorted(used, enter_point), before[enter], 1, 0),
        (before, after, alive, -1),
        (after, np.searchsorted(used, point), alive, 0),
        (after[on], before[on + 1], alive[on], 0),
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
    at_least("budget", budget, 1)
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
