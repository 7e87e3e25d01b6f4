"""The best plan for a memory when the gains of all tuples are known: one flow.

A tuple can be taken in at one decision point only, the one at which it arrives, and gains at each
later step for as long as it is held. Every unit of memory is a unit of flow from the first decision
point to the last: along the time line where it is idle, along the chain of a tuple where it holds
it. What has been given up cannot be had again, so a chain is entered at its beginning alone; it may
be left after any step.

Source: sections 3 and 4 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005).
"""

from typing import NamedTuple

import numpy as np

from ..extras import need

SOLVER = "ortools.graph.python.min_cost_flow"
ONE = 2**40  # the cost of a gain of 1: the solver wants whole numbers, and gains are chances


class Plan(NamedTuple):
    """What to do."""

    benefit: float  # all that will be gained, to 1e-12 a step
    kept: np.ndarray  # bool[n]: whether a tuple is held after the first decision point


def best_plan(gain: np.ndarray, enters: np.ndarray, budget: int) -> Plan:
    """Return the plan for `budget` tuples of memory that gains most.

    `gain[x, e - 1]` is what tuple x gains at step e = 1, 2, ..., if it is held then; `enters[x]` is
    its decision point, 0 for the one before step 1. What a tuple could gain before it enters is
    ignored. Memory that no gain asks for stays idle.

    >>> gain = np.array([[0, 0.8, 0.8], [1, 0, 0.5]])  # two for one place
    >>> plan = best_plan(gain, np.array([0, 0]), budget=1)
    >>> round(plan.benefit, 9), plan.kept.tolist()
    (1.6, [True, False])
    """
    count, steps = gain.shape
    kept = np.zeros(count, np.bool_)
    step = np.arange(1, steps + 1)
    worth = np.rint(gain * ONE).astype(np.int64)
    last = (step * (worth > 0)).max(axis=1, initial=0)  # after it a tuple is of no use
    which, place = np.nonzero((step > enters[:, None]) & (step <= last[:, None]))
    if len(which) == 0:
        return Plan(0.0, kept)
    at = place + 1  # the step; node 0 .. steps is the time line
    node = steps + which * steps + at  # the tuple after the step
    starts = at == enters[which] + 1
    paid = worth[which, place]
    back = paid > 0  # to leave after a step without a gain is no better than to leave before it
    line = np.arange(steps)
    arcs = [  # tail, head, capacity, cost
        (np.where(starts, at - 1, node - 1), node, 1, -paid),
        (node[back], at[back], 1, 0),
        (line, line + 1, budget, 0),
    ]
    flow = need(SOLVER, "a plan by flow").SimpleMinCostFlow()
    for tail, head, capacity, cost in arcs:
        flow.add_arcs_with_capacity_and_unit_cost(
            tail.astype(np.int32),
            head.astype(np.int32),
            np.full(len(tail), capacity),
            np.broadcast_to(cost, len(tail)),
        )
    flow.set_nodes_supplies(np.array([0, steps], np.int32), np.array([budget, -budget]))
    status = flow.solve()
    if status != flow.OPTIMAL:  # idle memory is always a way, so there is a cheapest one
        raise RuntimeError(f"the flow of a plan was not solved: {status}")
    first = np.flatnonzero(at == 1)  # only those who enter at point 0 are held during step 1
    kept[which[first]] = flow.flows(first.astype(np.int32)) > 0
    return Plan(-flow.optimal_cost() / ONE, kept)
