"""GDJ, GreedyDual-Join: credits, earned by matches; the smallest credit is evicted.

A newcomer starts with a percentile of the credits now held, which sets how long it may take to
prove its worth. Ties: the tuple is evicted that came to its present credit first.

Source: Chang, Li, Bestavros and Kollios, "GreedyDual-Join" (Boston University, TR-2004-028):
algorithm 1 and the three rules in section 4.1, METHODS 1 to 3 in section 5.2:
  1. a match earns one, nothing is taken away;
  2. a match earns the tuple's rank by credit, every arrival costs each tuple one;
  3. a match earns one, and what was earned at an arrival is taken from all in equal parts.
Departure: what an arrival costs is taken at the beginning of the next one.
With credit="parts", which the paper leaves open, a tuple of a join of three streams or more earns
when an arrival of another stream has its key, and no more when a result is whole.
"""

import math
from fractions import Fraction

from .base import Policy


class Gdj(Policy):
    def __init__(self, seed, budget, joins, method=1, percentile=0.2, credit="results"):
        super().__init__(seed, budget, joins)
        self.method = method
        self.percentile = percentile
        self.by_parts = credit == "parts" and len(joins[0]) > 2
        self.credits = {}
        self.since = {}  # stamp of the moment a tuple came to its credit
        self.earned = 0  # since the last arrival

    def retune(self, percentile):
        self.percentile = percentile

    def arrive(self, t, now):
        if self.method == 2:
            self._charge_all(1)
        if self.method == 3 and self.credits:
            self._charge_all(Fraction(self.earned, len(self.credits)))
        self.earned = 0
        if self.by_parts:
            for held in self.credits:
                if held.stream != t.stream and self._key(held) == self._key(t):
                    self._earn(held)

    def _key(self, t):
        return t.keys[dict(self.joins[0])[t.stream]]

    def _charge_all(self, amount):
        for held in self.credits:
            self.credits[held] -= amount

    def insert(self, t, now):
        self.credits[t] = self._initial_credit()
        self.since[t] = self.stamp()

    def _initial_credit(self):
        held = sorted(self.credits.values())
        if not held:
            return 0
        return held[min(len(held) - 1, math.floor(self.percentile * len(held)))]

    def match(self, t, now):
        if not self.by_parts:
            self._earn(t)

    def _earn(self, t):
        gain = self._rank(t) if self.method == 2 else 1
        self.credits[t] += gain
        self.earned += gain
        self.since[t] = self.stamp()

    def _rank(self, t):
        """Return how many held tuples, t included, have no more credit than t."""
        return sum(credit <= self.credits[t] for credit in self.credits.values())

    def remove(self, t, now):
        del self.credits[t]
        del self.since[t]

    def victim(self, newcomer, now):
        return min(self.credits, key=lambda t: (self.credits[t], self.since[t]))
