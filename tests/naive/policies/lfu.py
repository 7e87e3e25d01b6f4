"""LFU: evicts the tuple whose key was asked for least often; ties: the least recently used.

Perfect LFU remembers the count of a key even while nothing with that key is held; in-cache LFU
counts the matches of the tuple itself.

Sources: the HEEB paper, section 7.2 (its optimality for stationary references) and section 8
(the perfect version). Departure: a score is refreshed only when its tuple is inserted or matched.
"""

from .counts import ArrivalCounts
from .scored import Scored


class Lfu(Scored):
    def __init__(self, seed, budget, joins, perfect=True, admit="always"):
        super().__init__(seed, budget, joins, admit)
        self.perfect = perfect
        self.counts = ArrivalCounts(joins, budget)

    def score(self, t):
        if self.perfect:
            return sum(sum(counts) for counts in self.counts.on_other_legs(t))
        return self.ranks[t][0] if t in self.ranks else 1

    def arrive(self, t, now):
        self.counts.add(t)

    def match(self, t, now):
        score = self.score(t) if self.perfect else self.score(t) + 1
        self.ranks[t] = (score, self.stamp())
