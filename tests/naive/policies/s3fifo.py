"""S3-FIFO: a small queue on probation, a main queue, and a memory of keys thrown out.

Most newcomers are never used: they pass through the small queue quickly. One used more than once
there moves to the main queue; one thrown out leaves its key in the ghost queue, and a key that
comes back while remembered goes to the main queue at once.

Source: Yang et al., "FIFO Queues are All You Need for Cache Eviction" (SOSP 2023).
Departures: the ghost remembers the first key of a tuple; expired tuples leave no ghost.
"""

import math

from .base import Policy

MOST = 3  # uses are counted up to this


class S3Fifo(Policy):
    def __init__(self, seed, budget, joins, small=0.1):
        super().__init__(seed, budget, joins)
        self.share = small
        self.small = []  # oldest first, as are main and ghost
        self.main = []
        self.ghost = []  # keys
        self.ghosts = 65536 if budget is None else max(1, budget - math.floor(small * budget))
        self.uses = {}

    def insert(self, t, now):
        key = t.keys[0]
        if key in self.ghost:
            self.ghost.remove(key)
            self.main.append(t)
        else:
            self.small.append(t)
        self.uses[t] = 0

    def match(self, t, now):
        self.uses[t] = min(MOST, self.uses[t] + 1)

    def remove(self, t, now):
        (self.small if t in self.small else self.main).remove(t)
        del self.uses[t]

    def victim(self, newcomer, now):
        while True:
            if self._small_is_next():
                t = self.small[0]
                if self.uses[t] <= 1:
                    self._remember(t.keys[0])
                    return t
                self.main.append(self.small.pop(0))
                self.uses[t] = 0
            else:
                t = self.main[0]
                if self.uses[t] == 0:
                    return t
                self.main.append(self.main.pop(0))
                self.uses[t] -= 1

    def _small_is_next(self):
        held = len(self.small) + len(self.main)
        over = len(self.small) >= max(1, math.floor(self.share * held))
        return bool(self.small) and (over or not self.main)

    def _remember(self, key):
        if key in self.ghost:
            self.ghost.remove(key)
        self.ghost.append(key)
        if len(self.ghost) > self.ghosts:
            self.ghost.pop(0)
