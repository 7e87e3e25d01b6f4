"""RAND: any tuple is evicted, the newcomer included, with equal chance.

Sources: the HEEB paper, section 8; random eviction in the CLOCK paper, section 3.1.
"""

from collections import Counter

from ..members import Members
from ..rng import SplitMix
from .base import Policy, check_admit


class Rand(Policy):
    def __init__(self, seed, budget, joins, admit="compete"):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.rng = SplitMix(seed)
        self.members = Members()
        self.asked = Counter()  # time -> newcomers decided about at it

    def insert(self, t, now):
        self.members.add(t)

    def remove(self, t, now):
        self.members.remove(t)

    def victim(self, newcomer, now):
        held = len(self.members)
        if self.admit == "always":
            return self.members[self.rng.below(held)]
        drawn = self.rng.below(held + self._newcomers(now))
        return None if drawn >= held else self.members[drawn]

    def _newcomers(self, now):
        """Count what competes at this moment: of a step taken together, all asked so far."""
        if not self.together:
            return 1
        self.asked[now] += 1
        return self.asked[now]
