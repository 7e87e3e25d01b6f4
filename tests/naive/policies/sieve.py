"""SIEVE: FIFO with a hand that spares what was used since it last came by.

The hand walks from the oldest towards the newest and clears the mark of every tuple it spares;
unlike CLOCK, a spared tuple keeps its place and newcomers join at the newest end.

Source: Zhang et al., "SIEVE is Simpler than LRU" (NSDI 2024).
"""

from .base import Policy


class Sieve(Policy):
    def __init__(self, seed, budget, joins):
        super().__init__(seed, budget, joins)
        self.queue = []  # oldest first
        self.visited = set()
        self.hand = None  # None: begin at the oldest

    def insert(self, t, now):
        self.queue.append(t)

    def match(self, t, now):
        self.visited.add(t)

    def remove(self, t, now):
        if t is self.hand:
            self.hand = self._newer(t)
        self.queue.remove(t)
        self.visited.discard(t)

    def victim(self, newcomer, now):
        t = self.hand or self.queue[0]
        while t in self.visited:
            self.visited.remove(t)
            t = self._newer(t) or self.queue[0]  # past the newest: round to the oldest
        self.hand = self._newer(t)
        return t

    def _newer(self, t):
        """Return the tuple inserted next after t, or None if t is the newest."""
        after = self.queue.index(t) + 1
        return self.queue[after] if after < len(self.queue) else None
