"""Policies that give every held tuple a score and evict the lowest."""

from .base import Policy, check_admit


class Scored(Policy):
    """Keeps (score, stamp) of the held tuples; lowest first, then the lower stamp."""

    def __init__(self, seed, budget, joins, admit):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.ranks = {}  # held tuple -> (score, stamp)

    def score(self, t):
        """Return what t is worth, held or newcomer, knowing what is known now."""
        raise NotImplementedError

    def insert(self, t, now):
        self.ranks[t] = (self.score(t), self.stamp())

    def remove(self, t, now):
        del self.ranks[t]

    def victim(self, newcomer, now):
        lowest = min(self.ranks, key=self.ranks.get)
        # strictly lower: at a tie the newcomer, being fresher, is let in
        if self.admit == "compete" and self.score(newcomer) < self.ranks[lowest][0]:
            return None
        return lowest
