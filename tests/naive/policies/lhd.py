"""LHD, least hit density: the tuple is evicted that promises the fewest matches per time held.

The promise is learned by watching. Tuples of one class (how soon the last two matches came) are
taken to be alike; for each class and age the matches still to come are divided by the time still
to be spent, both summed over all that reached that age. Old observations fade. A few tuples, the
explorers, are spared so that there is something to watch at high ages.

Source: Beckmann, Chen and Cidon, "LHD: Improving Cache Hit Rate by Maximizing Hit Density"
(NSDI 2018). Departures: time is counted in arrivals; bins of ages grow with the age; explorers have
an age limit.
"""

import math
from bisect import bisect_right
from collections import Counter

from ..members import Members
from ..rng import SplitMix
from .base import Policy

CLASSES = 16
EDGES = sorted({*range(4), *(2**n for n in range(33)), *(3 * 2**n for n in range(32))})[:65]
STARTS = EDGES[:64]  # the youngest age of each bin
FADE = 0.9
NOTHING = 1e-5  # fewer events than this are none


class Lhd(Policy):
    def __init__(self, seed, budget, joins, sample=32, scan=32):
        super().__init__(seed, budget, joins)
        self.rows = 65536 if budget is None else budget
        self.sample = sample
        self.scan = scan
        self.every = 8 * max(1024, self.rows)  # arrivals between two lessons
        self.rng = SplitMix(seed)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp
        self.last = {}  # held tuple -> tick of its insertion or last match
        self.waits = {}  # held tuple -> the ages at its matches
        self.explorers = set()
        self.ticks = 0
        self.hits = [Counter() for _ in range(CLASSES)]  # age -> matches
        self.gone = [Counter() for _ in range(CLASSES)]
        # before the first lesson: better matched lately, better young
        self.density = [[(c + 1) / (1 + a / self.rows) for a in STARTS] for c in range(CLASSES)]

    def arrive(self, t, now):
        self.ticks += 1
        if self.ticks % self.every == 0:
            for c in range(CLASSES):
                self._learn(c)

    def _learn(self, c):
        hits, gone = self.hits[c], self.gone[c]
        density = [0.0] * len(STARTS)
        events = matches = time = 0.0  # at this age or older; time: arrivals still to be lived
        for age in reversed(range(len(STARTS))):
            events += hits[age] + gone[age]
            matches += hits[age]
            time += events * (EDGES[age + 1] - EDGES[age])
            if events > NOTHING:
                density[age] = matches / time
        if events > NOTHING:
            self.density[c] = density
        for seen in (hits, gone):
            for age in seen:
                seen[age] *= FADE

    def insert(self, t, now):
        self.members.add(t)
        self.inserted[t] = self.stamp()
        self.last[t] = self.ticks
        self.waits[t] = []
        self._perhaps_explore(t)

    def match(self, t, now):
        self._book(t, self.hits)
        self.waits[t].append(self.ticks - self.last[t])
        self.last[t] = self.ticks
        self.explorers.discard(t)
        self._perhaps_explore(t)

    def remove(self, t, now):
        self._book(t, self.gone)
        self.members.remove(t)
        self.explorers.discard(t)
        del self.inserted[t], self.last[t], self.waits[t]

    def _perhaps_explore(self, t):
        if self.rng.below(32) == 0 and len(self.explorers) < max(1, len(self.members) // 100):
            self.explorers.add(t)

    def _book(self, t, seen):
        seen[self._class(t)][self._bin(t)] += 1

    def victim(self, newcomer, now):
        return min(self._looked_at(), key=lambda t: (self._density(t), self.inserted[t]))

    def _looked_at(self):
        held = len(self.members)
        if held <= self.scan:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(self.sample)]

    def _density(self, t):
        if t in self.explorers and self.ticks - self.last[t] < 64 * self.rows:
            return math.inf
        return self.density[self._class(t)][self._bin(t)]

    def _bin(self, t):
        return bisect_right(STARTS, self.ticks - self.last[t]) - 1

    def _class(self, t):
        """Return 0 for what never matched; the sooner the last two matches came, the higher."""
        waits = self.waits[t]
        octaves = (sum(waits[-2:]) // max(1, self.rows // 8)).bit_length()
        if len(waits) < 2:
            return max(1, 8 - octaves) if waits else 0
        return max(9, 15 - octaves)
