"""LIFE: evicts the tuple with the lowest product of chance to join and lifetime left.

Sources: Das, Gehrke and Riedewald (SIGMOD 2003); LIFE_p in the HEEB paper, section 1.
"""

from math import prod

from .counts import ArrivalCounts
from .sampled import Sampled


class Life(Sampled):
    def __init__(self, seed, budget, joins, admit="compete"):
        super().__init__(seed, budget, joins, admit)
        self.counts = ArrivalCounts(joins, budget)

    def score(self, t, now):
        legs = zip(self.gains(t), self.counts.on_other_legs(t), strict=True)
        chance = sum(prod(counts, start=gain) for gain, counts in legs)
        return float(chance) * float(t.deadline - now + 1)

    def arrive(self, t, now):
        self.counts.add(t)
