"""FLOWEXPECT for caching: by the reduction of caching to joining.

A supplied row joins the next reference to its value and no other (`papers/theory/reduction.py`). So
what a held row gains e steps from now is the probability that its value is referenced then for the
first time. A reference that is still to come supplies a row too: after d steps, of any value, which
gains at a later step e the probability that the same value is referenced again, first at e. The
schedule with the largest expected gain over the next steps is a flow; its first decision is made,
and the next reference computes a new one.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), sections 3.1 and
4: "since we have shown the reduction from caching to joining, we shall focus on joining here".
"""

from typing import Any

import numpy as np

from papers.theory.benefit import DEPENDENT, caching
from penstock.models import Now
from penstock.simulate.flowexpect import LOOKAHEAD, best_schedule


class FlowExpectCache:
    """A cache of `budget` rows in front of a relation, asked for one value a step.

    >>> from penstock.models import Stationary
    >>> cache = FlowExpectCache(Stationary([1, 2, 3], [0.6, 0.3, 0.1]), budget=1)
    >>> [cache.push(key) for key in (3, 1, 2, 1)]  # it has held the 1
    [False, False, False, True]
    """

    def __init__(self, model: Any, budget: int, lookahead: int = LOOKAHEAD) -> None:
        self.model = model
        self.budget = budget
        self.lookahead = lookahead
        self.now = -1
        self.held: list[int] = []  # the oldest first

    def push(self, key: int) -> bool:
        """Take one reference; return whether it is a hit."""
        self.now += 1
        hit = key in self.held
        if hit:
            self.held.remove(key)  # the row is supplied again
        self.held.append(key)
        if len(self.held) > self.budget:
            self.held = [self.held[place] for place in self._chosen(key)]
        return hit

    def _chosen(self, last: int) -> list[int]:
        """Return the places of the rows to keep, in their order."""
        gain, enters = self._gains(Now(self.now, last))
        count = len(self.held)
        kept = best_schedule(gain, enters, self.budget).kept[:count]
        worth = gain[:count].sum(axis=1)
        order = np.lexsort((np.arange(count), worth, kept))  # the last ones are kept
        return sorted(order[count - self.budget :].tolist())

    def _gains(self, now: Now) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected gains of rows held and to come, and when each comes."""
        most = self.lookahead
        ahead = np.arange(1, most + 1)
        seen = self._first(np.array(self.held), ahead, now)
        later = np.zeros((most - 1, most))
        value = np.asarray(self.model.support(most, now))
        for d in range(1, most):
            chance = np.asarray(self.model.prob(value, d, now))
            there, left = value[chance > 0], ahead[: most - d]
            if isinstance(self.model, DEPENDENT):
                again = [self._first(np.array([v]), left, Now(now.time + d, v))[0] for v in there]
            else:
                again = list(self._first(there, left, Now(now.time + d)))
            later[d - 1, d:] = chance[chance > 0] @ np.array(again)
        return np.concatenate((seen, later)), np.concatenate((np.zeros(len(seen), int), ahead[:-1]))

    def _first(self, values: np.ndarray, ahead: np.ndarray, now: Now) -> np.ndarray:
        """Return the probabilities of the first reference to values at each step ahead."""
        total = caching(self.model, values[:, None], ahead[None, :], now)
        return np.diff(total, axis=1, prepend=0.0)
