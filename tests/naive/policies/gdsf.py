"""GDSF: evicts the row with the lowest (score of the last victim + uses x price / size).

Source: Cherkasova, "Improving WWW proxies performance with GDSF caching policy" (1998). The score
is worked out at each use, with the score of the last victim of then; of equal scores the one that
was used last stays.
"""

from .base import Policy


class Gdsf(Policy):
    def __init__(self, seed, budget, joins):
        super().__init__(seed, budget, joins)
        self.known = {}  # held tuple -> (score, stamp, uses)
        self.last = 0.0  # the score of the last victim

    def insert(self, t, now):
        self.known[t] = (0, 0, 0)
        self.match(t, now)

    def match(self, t, now):
        uses = self.known[t][2] + 1
        self.known[t] = (self.last + uses * (t.price / t.size), self.stamp(), uses)

    def remove(self, t, now):
        del self.known[t]

    def victim(self, newcomer, now):
        least = min(self.known, key=lambda t: self.known[t][:2])
        self.last = self.known[least][0]
        return least
