"""PROB: evicts the tuple least likely to be joined, judged by the arrivals seen so far.

The chance of a result is estimated by how often the key has arrived on the other legs; with more
than one other leg by the product, as a result needs one tuple of each. Ties: the older one.

Sources: Das, Gehrke and Riedewald, "Approximate Join Processing over Data Streams" (SIGMOD 2003);
PROB_p in the HEEB paper, sections 1 and 7.2; the GDJ paper, section 3.1.
Departure: a score is refreshed only when its tuple is inserted or matched.
"""

from math import prod

from .counts import ArrivalCounts
from .scored import Scored


class Prob(Scored):
    def __init__(self, seed, budget, joins, admit="compete"):
        super().__init__(seed, budget, joins, admit)
        self.counts = ArrivalCounts(joins, budget)

    def score(self, t):
        legs = zip(self.gains(t), self.counts.on_other_legs(t), strict=True)
        return sum(prod(counts, start=gain) for gain, counts in legs)

    def arrive(self, t, now):
        self.counts.add(t)

    def match(self, t, now):
        _, stamp = self.ranks[t]
        self.ranks[t] = (self.score(t), stamp)

    gained = match
