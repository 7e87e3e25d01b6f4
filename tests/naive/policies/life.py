"""LIFE: the tuple goes with the lowest product of chance to join and lifetime left.

All scores move with time, so they are worked out at the moment of choice: of every held tuple in
a small memory, of a random sample in a large one.

Sources: Das, Gehrke and Riedewald (SIGMOD 2003); LIFE_p in the HEEB paper, section 1.
"""

from math import prod

from ..members import Members
from ..rng import SplitMix
from .base import Policy, check_admit
from .counts import ArrivalCounts

SCAN = 512  # up to this many held tuples all are looked at
SAMPLE = 64


class Life(Policy):
    def __init__(self, seed, budget, joins, admit="compete"):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.rng = SplitMix(seed)
        self.counts = ArrivalCounts(joins)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp

    def score(self, t, now):
        chance = sum(prod(counts) for counts in self.counts.on_other_legs(t))
        return float(chance) * float(t.deadline - now + 1)

    def arrive(self, t, now):
        self.counts.add(t)

    def insert(self, t, now):
        self.members.add(t)
        self.inserted[t] = self.stamp()

    def remove(self, t, now):
        self.members.remove(t)
        del self.inserted[t]

    def victim(self, newcomer, now):
        lowest = min(self._looked_at(), key=lambda t: (self.score(t, now), self.inserted[t]))
        if self.admit == "compete" and self.score(newcomer, now) < self.score(lowest, now):
            return None
        return lowest

    def _looked_at(self):
        held = len(self.members)
        if held <= SCAN:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(SAMPLE)]
