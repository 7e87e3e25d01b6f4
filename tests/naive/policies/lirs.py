"""LIRS: tuples used twice within a short time are kept; all others pass through a short queue.

Written with the paper's stack: kept tuples, queued tuples and evicted keys by last use, cut off
below the stalest kept tuple. Whatever is on it when it is used again is used within a short time.

Source: Jiang, Zhang, "LIRS" (SIGMETRICS 2002).
Departures: as many evicted keys are remembered as the budget has rows, those evicted last.
"""

import math

from .base import Policy


class Lirs(Policy):
    def __init__(self, seed, budget, joins, queue=0.01):
        super().__init__(seed, budget, joins)
        self.share = queue
        self.stack = []  # tuples, and keys of evicted ones as ("gone", key); used last at the end
        self.kept = set()
        self.queue = []
        self.gone = []  # keys that were on the stack when they were evicted, the last at the end
        self.most = 65536 if budget is None else budget
        self.filling = True

    def insert(self, t, now):
        gone = ("gone", t.keys[0])
        soon = t.keys[0] in self.gone and self._is_on_stack(gone)
        if t.keys[0] in self.gone:
            self.gone.remove(t.keys[0])
        if gone in self.stack:
            self.stack.remove(gone)
        if soon:
            self._demote()
        if soon or self.filling:
            self.kept.add(t)
        else:
            self.queue.append(t)
        self.stack.append(t)
        self._prune()

    def match(self, t, now):
        if t not in self.kept:
            self.queue.remove(t)
            if self._is_on_stack(t):
                self._demote()
                self.kept.add(t)
            else:
                self.queue.append(t)
        if t in self.stack:
            self.stack.remove(t)
        self.stack.append(t)
        self._prune()

    def remove(self, t, now):
        if t in self.kept:
            self.kept.remove(t)
        else:
            self.queue.remove(t)
        if t in self.stack:
            self.stack.remove(t)
        self._prune()

    def victim(self, newcomer, now):
        self.filling = False
        wanted = max(1, math.floor(self.share * (len(self.kept) + len(self.queue))))
        while len(self.queue) < wanted:
            self._demote()
        t = self.queue[0]
        if self._is_on_stack(t):
            self._remember(t)
        return t

    def _is_on_stack(self, entry):
        """Tell whether it was used after the stalest kept tuple; without any, everything was."""
        return not self.kept or entry in self.stack

    def _demote(self):
        """Let the stalest kept tuple join the queue."""
        stalest = next((t for t in self.stack if t in self.kept), None)
        if stalest is not None:
            self.kept.remove(stalest)
            self.queue.append(stalest)
            self._prune()

    def _prune(self):
        """Cut off what was used before every kept tuple; without any, nothing is."""
        while self.kept and self.stack[0] not in self.kept:
            del self.stack[0]

    def _remember(self, t):
        key = t.keys[0]
        if key in self.gone:
            self.gone.remove(key)
            if ("gone", key) in self.stack:
                self.stack.remove(("gone", key))
        elif len(self.gone) == self.most:
            oldest = ("gone", self.gone.pop(0))
            if oldest in self.stack:
                self.stack.remove(oldest)
        self.gone.append(key)
        if t in self.stack:
            self.stack[self.stack.index(t)] = ("gone", key)
