"""S3-FIFO: a small queue on probation, a main queue, and a memory of keys lately evicted.

Most newcomers are never used: they pass through the small queue quickly. One used twice there moves
to the main queue; one evicted leaves its key in the ghost queue, and a key that comes back while it
is remembered goes to the main queue at once.

Here both queues are one list, the small one first: `border` says where the main one begins.

Source: Yang et al., "FIFO Queues are All You Need for Cache Eviction" (SOSP 2023); libCacheSim for
what the paper leaves open, such as that the small queue is the oldest tenth of what fills a memory.
Departures: the ghost remembers the first key of a tuple; expired tuples leave no ghost; shares are
of what is held.
"""

import math

from .base import Policy

MOST = 3  # uses are counted up to this


class S3Fifo(Policy):
    def __init__(self, seed, budget, joins, small=0.1):
        super().__init__(seed, budget, joins)
        self.share = small
        self.queue = []  # the small queue, oldest first, then the main queue, oldest first
        self.border = 0
        self.filling = True
        self.uses = {}
        self.ghost = {}  # keys in the order in which they were remembered
        self.scale = 65536 if budget is None else budget

    def insert(self, t, now):
        self.uses[t] = 0
        if self.filling:
            self.queue.append(t)
            self.border += self.border < self._small_size()
        elif t.keys[0] in self.ghost:
            del self.ghost[t.keys[0]]
            self.queue.append(t)
        else:
            self.queue.insert(self.border, t)
            self.border += 1
        self._forget_down_to(len(self.queue))

    def match(self, t, now):
        self.uses[t] = min(MOST, self.uses[t] + 1)

    def remove(self, t, now):
        place = self.queue.index(t)
        self.border -= place < self.border
        del self.queue[place], self.uses[t]

    def victim(self, newcomer, now):
        self.filling = False
        if self.border >= self._small_size() or self.border == len(self.queue):
            for t in self.queue[: self.border]:
                if self.uses[t] < 2:
                    self._remember(t.keys[0])
                    return t
                self._to_the_back(t, uses=0)
                self.border -= 1
        while True:
            t = self.queue[self.border]
            if self.uses[t] == 0:
                return t
            self._to_the_back(t, uses=self.uses[t] - 1)

    def _to_the_back(self, t, uses):
        self.queue.remove(t)
        self.queue.append(t)
        self.uses[t] = uses

    def _small_size(self):
        return max(1, math.floor(self.share * len(self.queue)))

    def _remember(self, key):
        self.ghost.pop(key, None)
        self.ghost[key] = True
        # one more than the main queue's share, until the newcomer has been looked up
        while len(self.ghost) > max(1, math.floor((1 - self.share) * self.scale)) + 1:
            del self.ghost[next(iter(self.ghost))]

    def _forget_down_to(self, rows):
        while len(self.ghost) > max(1, math.floor((1 - self.share) * rows)):
            del self.ghost[next(iter(self.ghost))]
