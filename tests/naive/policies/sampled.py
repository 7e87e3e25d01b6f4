"""Policies whose scores move with time: they are worked out at the moment of choice.

Of every held tuple in a small memory, of a random sample in a large one. The lowest is
evicted, of equal ones the older; a newcomer that is lower still is refused.
"""

from ..members import Members
from ..rng import SplitMix
from .base import Policy, check_admit


class Sampled(Policy):
    """Keeps the held tuples in dense order, to draw from, and the stamps that break ties."""

    def __init__(self, seed, budget, joins, admit, scan=512, sample=64):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.scan = scan  # up to this many held tuples all are looked at
        self.sample = sample
        self.rng = SplitMix(seed)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp

    def score(self, t, now):
        """Return what t is worth at this moment, held or newcomer."""
        raise NotImplementedError

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
        if held <= self.scan:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(self.sample)]
