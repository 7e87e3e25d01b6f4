"""LHD, least hit density: the tuple goes that promises the fewest matches per time held.

The promise is learned by watching. Tuples of one class (how quickly they were last matched) are
taken to be alike; for each class and age the matches still to come are divided by the time still
to be spent, both summed over all that reached that age. Old observations fade.

Source: Beckmann, Chen and Cidon, "LHD: Improving Cache Hit Rate by Maximizing Hit Density"
(NSDI 2018). Departures: time is counted in arrivals, and ages in bins of fixed width.
"""

from ..members import Members
from ..rng import SplitMix
from .base import Policy

CLASSES = 8
AGES = 128
FADE = 0.9
NOTHING = 1e-5  # fewer events than this are none


class Lhd(Policy):
    def __init__(self, seed, budget, joins, sample=64, scan=64):
        super().__init__(seed, budget, joins)
        rows = 65536 if budget is None else budget
        self.sample = sample
        self.scan = scan
        self.every = max(1024, rows)  # arrivals between two lessons
        self.width = max(1, 16 * rows // AGES)  # of an age bin, in arrivals
        self.rng = SplitMix(seed)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp
        self.last = {}  # held tuple -> tick of its insertion or last match
        self.classes = {}  # held tuple -> class
        self.ticks = 0
        self.hits = [[0.0] * AGES for _ in range(CLASSES)]
        self.gone = [[0.0] * AGES for _ in range(CLASSES)]
        # before the first lesson: better matched lately, better young
        self.density = [[(c + 1) / (a + 1) for a in range(AGES)] for c in range(CLASSES)]

    def arrive(self, t, now):
        self.ticks += 1
        if self.ticks % self.every == 0:
            for c in range(CLASSES):
                self._learn(c)

    def _learn(self, c):
        hits, gone = self.hits[c], self.gone[c]
        density = [0.0] * AGES
        events = matches = time = 0.0  # at this age or older; time: bins still to be lived
        for age in reversed(range(AGES)):
            events += hits[age] + gone[age]
            matches += hits[age]
            time += events
            if events > NOTHING:
                density[age] = matches / time
        if events > NOTHING:
            self.density[c] = density
        self.hits[c] = [n * FADE for n in hits]
        self.gone[c] = [n * FADE for n in gone]

    def insert(self, t, now):
        self.members.add(t)
        self.inserted[t] = self.stamp()
        self.last[t] = self.ticks
        self.classes[t] = 0

    def match(self, t, now):
        age = self._age(t)
        self.hits[self.classes[t]][age] += 1
        self.classes[t] = min(CLASSES - 1, 1 + age.bit_length())
        self.last[t] = self.ticks

    def remove(self, t, now):
        self.gone[self.classes[t]][self._age(t)] += 1
        self.members.remove(t)
        del self.inserted[t], self.last[t], self.classes[t]

    def victim(self, newcomer, now):
        return min(self._looked_at(), key=lambda t: (self._density(t), self.inserted[t]))

    def _looked_at(self):
        held = len(self.members)
        if held <= self.scan:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(self.sample)]

    def _density(self, t):
        return self.density[self.classes[t]][self._age(t)]

    def _age(self, t):
        return min(AGES - 1, (self.ticks - self.last[t]) // self.width)
