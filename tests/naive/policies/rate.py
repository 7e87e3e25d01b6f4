"""RATE: evict what is least likely to match the next arrival.

How likely is learned from how often keys came, at many time scales (`rates.py`). A tuple keeps what
was known of its keys when it came in, or at a match, if of the first nothing was known before.
"""

from .rates import Rates
from .shortlisted import Shortlisted


class Rate(Shortlisted):
    def __init__(self, seed, budget, joins, half_life=None, remains=False, admit="compete"):
        super().__init__(seed, budget, joins, admit)
        self.remains = remains
        self.scale = 65_536 if budget is None else budget
        self.rates = Rates(joins, self.scale, half_life)
        self.known = {}  # held tuple -> what is known of its keys

    def arrive(self, t, now):
        if self.caching:
            self.rates.most = 1024 + 3 * self.scale
        self.rates.note(t)

    def insert(self, t, now):
        super().insert(t, now)
        self._hold(t)

    def match(self, t, now):
        if self.known[t][0][1] is None:
            self._let_go(t)
            self._hold(t)

    def remove(self, t, now):
        super().remove(t, now)
        self._let_go(t)

    def _hold(self, t):
        self.known[t] = self.rates.find(t)
        for _, past in self.known[t]:
            if past is not None:
                past.held += 1

    def _let_go(self, t):
        for _, past in self.known.pop(t):
            if past is not None:
                past.held -= 1

    def score(self, t, now):
        return self._worth(t, self.known[t], now)

    def offer(self, t, now):
        return self._worth(t, self.rates.find(t), now)

    def _worth(self, t, known, now):
        worth = self.rates.expected(known, lambda join: self.gain(t, join))
        return worth * (float(t.deadline) - now + 1) if self.remains else worth
