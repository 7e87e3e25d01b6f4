"""FLOWEXPECT: at every step the schedule with the largest expected gain over the next steps.

The future is known as far as stream models describe it. At a step a tuple in sight, held or new,
has a chance to match at each of the next steps. A tuple that is still to come has one too: the
chance that it and a later one of the other stream are alike. Were these expected gains certain, the
best schedule would be a flow (`best_schedule`). The first decision of that flow is made; the next
step computes a new one.

It is not the optimum. A schedule decides beforehand when to evict what, whatever the values turn
out to be.

The source leaves open what idle memory holds. Here a tuple that could still match is held: first
those that can gain more within the look-ahead, then the younger ones; never those that expired.

Source: section 4 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..kernel.options import at_least
from ..kernel.policy import JOINING, Policy, Setup, check_range, reject
from ..kernel.slots import FOREVER
from ..models import Model, Now
from .optimum import Arcs, cheapest_flow

NAME = "flowexpect"
LOOKAHEAD = 5
FARTHEST = 1000
ONE = 2**40  # the cost of a gain of 1: the solver needs whole numbers, and gains are chances


class FlowExpect:
    """A join of two streams that bring one tuple each at every step: 0, 1, ...

    >>> from ..models import Stationary
    >>> join = FlowExpect([Stationary([9], [1]), Stationary([1, 3], [0.9, 0.1])], budget=1)
    >>> [join.push(r, s) for r, s in [(1, 2), (9, 3), (9, 1)]]  # it has held the 1
    [0, 0, 1]

    Parameters:
        models: of R and of S, which must be independent of each other.
        budget: how many tuples can be held.
        lookahead: how many steps a schedule looks ahead (l in the paper).
        within: how many steps after its arrival a tuple can still match; None: no limit.
    """

    def __init__(
        self,
        models: Sequence[Model] | None,
        budget: int,
        lookahead: int = LOOKAHEAD,
        *,
        within: int | None = None,
    ) -> None:
        if models is None:
            raise BadInput(
                f"policy {NAME!r} needs the models of both streams, and they are not known;"
                " replay a workload whose models are: tower, roof, floor or walk"
            )
        at_least("budget", budget, 1)
        check_range(NAME, "lookahead", lookahead, 1, FARTHEST)
        self.models = tuple(models)
        self.budget = budget
        self.within = within
        self.ahead = np.arange(1, lookahead + 1)
        self.now = -1
        # What is held, the oldest first:
        self.side = np.empty(0, np.int64)
        self.key = np.empty(0, np.int64)
        self.end = np.empty(0, np.int64)  # the last step at which it can match

    def push(self, r: int, s: int, end: tuple[int, int] = (FOREVER, FOREVER)) -> int:
        """Take the tuples of one step; return how many results they have with the held ones."""
        self.now += 1
        fits = self.key == np.where(self.side == 0, s, r)
        results = int((fits & (self.end >= self.now)).sum())
        self.side = np.append(self.side, [0, 1])
        self.key = np.append(self.key, [r, s])
        self.end = np.append(self.end, end)
        self._keep(np.flatnonzero(self.end > self.now))
        if len(self.key) > self.budget:
            self._keep(self._chosen(r, s))
        return results

    def _keep(self, places: np.ndarray) -> None:
        self.side, self.key, self.end = self.side[places], self.key[places], self.end[places]

    def _chosen(self, r: int, s: int) -> np.ndarray:
        """Return the places of the tuples to keep, in their order."""
        gain, enters = self._gains((Now(self.now, r), Now(self.now, s)))
        count = len(self.key)
        kept = best_schedule(gain, enters, self.budget).kept[:count]
        worth = gain[:count].sum(axis=1)
        order = np.lexsort((np.arange(count), worth, kept))  # the last ones are kept
        return np.sort(order[count - self.budget :])

    def _gains(self, now: tuple[Now, Now]) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected gains of tuples in sight and to come, and when each comes."""
        count, most = len(self.key), len(self.ahead)
        likely = [m.support(most, at) for m, at in zip(self.models, now, strict=True)]
        value = np.concatenate((self.key, min(likely, key=len)))
        chance = [
            m.prob(value[:, None], self.ahead, at) for m, at in zip(self.models, now, strict=True)
        ]
        seen = np.where(self.side[:, None] == 0, chance[1][:count], chance[0][:count])
        seen = np.where(self.now + self.ahead <= self.end[:, None], seen, 0.0)
        # [d, e]: the chance that R brings at d what S brings at e
        meet = chance[0][count:].T @ chance[1][count:]
        if self.within is not None:
            meet = np.where(abs(self.ahead[:, None] - self.ahead) <= self.within, meet, 0.0)
        gain = np.concatenate((seen, meet[:-1], meet.T[:-1]))
        return gain, np.concatenate((np.zeros(count, np.int64), self.ahead[:-1], self.ahead[:-1]))


class Schedule(NamedTuple):
    """What to hold."""

    benefit: float  # the whole gain, to 1e-12 a step
    kept: np.ndarray  # bool[n]: whether a tuple is held after the first decision point


def best_schedule(gain: np.ndarray, enters: np.ndarray, budget: int) -> Schedule:
    """Return the schedule for `budget` tuples of memory that gains most, as one flow.

    `gain[x, e - 1]` is what tuple x gains at step e = 1, 2, ..., if it is held then; `enters[x]` is
    its decision point, 0 for the one before step 1. What a tuple could gain before it enters is
    ignored. Memory that no gain asks for stays idle.

    Every unit of memory is a unit of flow from the first decision point to the last: along the time
    line where it is idle, along the chain of a tuple where it holds it. An evicted tuple cannot
    come back, so a chain is entered at its beginning alone; it may be left after any step.

    Source: sections 3 and 4 of the paper.

    >>> gain = np.array([[0, 0.8, 0.8], [1, 0, 0.5]])  # two for one place
    >>> found = best_schedule(gain, np.array([0, 0]), budget=1)
    >>> round(found.benefit, 9), found.kept.tolist()
    (1.6, [True, False])
    """
    count, steps = gain.shape
    kept = np.zeros(count, np.bool_)
    step = np.arange(1, steps + 1)
    worth = np.rint(gain * ONE).astype(np.int64)
    last = (step * (worth > 0)).max(axis=1, initial=0)  # after it a tuple gains nothing
    which, place = np.nonzero((step > enters[:, None]) & (step <= last[:, None]))
    if len(which) == 0:
        return Schedule(0.0, kept)
    at = place + 1  # the step; node 0 .. steps is the time line
    node = steps + which * steps + at  # the tuple after the step
    starts = at == enters[which] + 1
    gained = worth[which, place]
    back = gained > 0  # to leave after a step without a gain is no better than to leave before it
    line = np.arange(steps)
    arcs: list[Arcs] = [
        (np.where(starts, at - 1, node - 1), node, 1, -gained),
        (node[back], at[back], 1, 0),
        (line, line + 1, budget, 0),
    ]
    flow = cheapest_flow(arcs, steps, budget, "a plan by flow")
    first = np.flatnonzero(at == 1)  # only tuples that enter at point 0 are held during step 1
    kept[which[first]] = flow.flows(first.astype(np.int32)) > 0
    return Schedule(-flow.optimal_cost() / ONE, kept)


def make_state(setup: Setup, lookahead: int = LOOKAHEAD) -> FlowExpect:
    """Return the join with nothing held."""
    return FlowExpect(setup.models, setup.scale, lookahead)


# Its name and parameters. An engine cannot run it: it decides about whole steps, and in Python.
FLOWEXPECT = Policy(
    NAME,
    "evicts the tuple that the best schedule for the next steps leaves out; slow",
    make_state,
    reject,
    problems=(JOINING,),
)
