"""Policies whose scores move with time, which look at a few held tuples for each eviction.

The first eight in the list are a shortlist, each with the score it had when it was last looked at.
A hand looks at the next eight of all; one lower than the highest there changes places with it. Then
the lowest of it is looked at again and again, until it is one that was the lowest already. Ties:
the older is evicted.
"""

from math import inf

from .base import Policy, check_admit

SUSPECTS = 8
LOOKS = 8


class Shortlisted(Policy):
    def __init__(self, seed, budget, joins, admit):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.list = []  # held tuples; the last fills the place of one that leaves
        self.low = [-inf] * SUSPECTS  # last known scores; -inf: unknown
        self.hand = 0
        self.inserted = {}  # held tuple -> stamp

    def score(self, t, now):
        """Return what a held tuple is worth at this moment."""
        raise NotImplementedError

    def offer(self, t, now):
        """Return what a newcomer is worth at this moment."""
        raise NotImplementedError

    def insert(self, t, now):
        self._unknown(len(self.list))
        self.list.append(t)
        self.inserted[t] = self.stamp()

    def remove(self, t, now):
        place = self.list.index(t)
        self._unknown(place)
        self.list[place] = self.list[-1]
        self.list.pop()
        del self.inserted[t]

    def _unknown(self, place):
        if place < SUSPECTS:
            self.low[place] = -inf

    def victim(self, newcomer, now):
        for _ in range(min(LOOKS, len(self.list))):
            self.hand -= 1
            if not 0 <= self.hand < len(self.list):
                self.hand = len(self.list) - 1
            self._see(self.hand, self.score(self.list[self.hand], now))
        place = None
        while place != self._lowest():
            place = self._lowest()
            self.low[place] = self.score(self.list[place], now)
        if self.admit == "compete" and self.offer(newcomer, now) < self.low[place]:
            return None
        return self.list[place]

    def _see(self, place, score):
        if place < SUSPECTS:
            self.low[place] = score
            return
        highest = self.low.index(max(self.low))
        if score < self.low[highest]:
            self.low[highest] = score
            here, there = self.list[place], self.list[highest]
            self.list[place], self.list[highest] = there, here

    def _lowest(self):
        count = min(SUSPECTS, len(self.list))
        return min(range(count), key=lambda i: (self.low[i], self.inserted[self.list[i]]))
