"""AGE: every tuple is kept until the age that is worth most, then it can be evicted.

If p(k) is the number of results a tuple gives at age k and C(k) their sum up to k, the best age
is the k with the largest C(k) / k. A full memory refuses newcomers until its oldest tuple has
reached that age. With k = 0 this is FIFO.

Sources: Srivastava and Widom, "Memory-Limited Execution of Windowed Stream Joins" (VLDB 2004);
the GDJ paper, section 3.2.
Departures: the age curve is learned, in bins that grow by a half power of two: the results
given in a bin over the tuples that lived to see it. Only the oldest tuple of the lane is asked.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict

from .base import Policy

BINS = 96
EVERY = 1024  # arrivals between two lessons
LOWER = [math.ceil(2 ** (b / 2) - 1) for b in range(BINS)]  # youngest age of a bin
UPPER = [*LOWER[1:], 2 * LOWER[-1]]  # the age at which a bin ends


def bin_of(age):
    """Return the last bin beginning at or before this age."""
    # the first bins share a lower bound and the last of them wins; nothing is younger than 0
    return bisect_right(LOWER, max(0, age)) - 1


def best_age(gains, lives):
    """Return the age that maximises results per time held, or None if nothing is known."""
    if not lives:
        return None
    best, best_ratio, curve = None, 0.0, 0.0
    for b in range(max(lives) + 1):
        through = sum(lives[c] for c in range(b, BINS))  # tuples that lived to see this bin
        curve += gains[b] / through
        if curve / UPPER[b] > best_ratio:
            best, best_ratio = UPPER[b], curve / UPPER[b]
    return best


class Age(Policy):
    def __init__(self, seed, budget, joins, k=None):
        super().__init__(seed, budget, joins)
        self.learning = k is None
        self.best_ages = defaultdict(lambda: k or 0)  # stream -> k
        self.gains = defaultdict(Counter)  # stream -> bin -> results given at that age
        self.lives = defaultdict(Counter)  # stream -> bin -> tuples that left at that age
        self.queue = []  # oldest insertion first
        self.arrivals = 0

    def arrive(self, t, now):
        self.arrivals += 1
        if self.learning and self.arrivals % EVERY == 0:
            for stream, lives in self.lives.items():
                best = best_age(self.gains[stream], lives)
                if best is not None:
                    self.best_ages[stream] = best

    def insert(self, t, now):
        self.queue.append(t)

    def match(self, t, now):
        self.gains[t.stream][bin_of(now - t.time)] += 1

    def remove(self, t, now):
        self.queue.remove(t)
        self.lives[t.stream][bin_of(now - t.time)] += 1

    def victim(self, newcomer, now):
        oldest = self.queue[0]
        ripe = now - oldest.time >= self.best_ages[oldest.stream]
        return oldest if ripe else None
