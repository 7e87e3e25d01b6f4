"""FLOWEXPECT: at every step the plan with the largest expected gain over the next steps.

The future is known as far as stream models tell it. At a step a tuple in sight, held or new, has a
chance to match at each of the next steps; a tuple that is still to come has one too, the chance
that it and a later one of the other stream are alike. With these expected gains for sure ones the
optimum with hindsight would be a flow (`plan`). The first decision of that flow is made; the next
step plans anew.

It is not the optimum. A plan says beforehand what goes when, whatever the values turn out to be.

The source leaves open what idle memory holds. Here whoever could be of use later stays: first those
that can gain more within the look-ahead, then the younger ones; the dead never.

Source: section 4 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

from collections.abc import Sequence

import numpy as np

from ..core.policy import JOINING, Policy, Setup, check_range, refuse
from ..core.slots import FOREVER
from ..errors import BadInput
from ..models import Model, Now
from ..models.support import support
from .plan import best_plan

NAME = "flowexpect"
LOOKAHEAD = 5
FARTHEST = 1000


class FlowExpect:
    """A join of two streams that bring one tuple each at every step: 0, 1, ...

    >>> from ..models import Known
    >>> join = FlowExpect([Known([1, 9, 9]), Known([2, 3, 1])], budget=1)
    >>> [join.push(r, s) for r, s in [(1, 2), (9, 3), (9, 1)]]  # it has waited for the 1
    [0, 0, 1]

    Parameters:
        models: of R and of S, which must be independent of each other.
        budget: how many tuples can be held.
        lookahead: how many steps a plan looks ahead (l in the paper).
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
        if budget < 1:
            raise BadInput(f"budget must be at least 1, got {budget}")
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
        """Return the places of those to keep, in their order."""
        gain, enters = self._gains((Now(self.now, r), Now(self.now, s)))
        count = len(self.key)
        kept = best_plan(gain, enters, self.budget).kept[:count]
        worth = gain[:count].sum(axis=1)
        order = np.lexsort((np.arange(count), worth, kept))  # the last ones stay
        return np.sort(order[count - self.budget :])

    def _gains(self, now: tuple[Now, Now]) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected gains of those in sight and of those to come, and when these come."""
        count, most = len(self.key), len(self.ahead)
        likely = [support(m, most, at) for m, at in zip(self.models, now, strict=True)]
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


def make_state(setup: Setup, lookahead: int = LOOKAHEAD) -> FlowExpect:
    """Return the join with nothing held."""
    return FlowExpect(setup.models, setup.scale, lookahead)


# Its name and parameters. An engine cannot run it: it decides about whole steps, and in Python.
FLOWEXPECT = Policy(
    NAME,
    "the tuple goes that the best plan for the next steps leaves out; slow",
    make_state,
    refuse,
    problems=(JOINING,),
)
