"""HIST, histogram HEEB: as HEEB, but the gains are learned; only the form of the streams is given.

For one two-way join, or a cache. Each side has its own pair of histograms, as each waits for
another stream. A newcomer that is refused was never held and teaches nothing. Time is the number of
arrivals of the stream waited for. Ties: the older goes.

Source: the HEEB paper, section 6.2; see ..histogram_heeb for what it leaves open.
"""

from ..histogram_heeb import Benefit, Position
from ..members import Members
from ..rng import SplitMix
from .base import Policy, check_admit


class Hist(Policy):
    def __init__(
        self,
        seed,
        budget,
        joins,
        form="trend",
        buckets=10,
        every=300,
        decay=0.9,
        smoothing=0.05,
        admit="compete",
        scan=512,
        sample=64,
    ):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        self.scan, self.sample = scan, sample
        self.rng = SplitMix(seed)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp
        self.entered = {}  # held tuple -> (offset, arrivals of the other stream) at its insertion
        self.matched = {}  # held tuple -> matches so far
        self.arrived = [0, 0]
        self.positions = [Position(form, smoothing) for _ in range(2)]
        # by the side that waits
        self.benefits = [Benefit(buckets=buckets, every=every, decay=decay) for _ in range(2)]

    def offset(self, t):
        return self.positions[1 - t.stream].offset(t.keys[0])

    def score(self, t):
        return self.benefits[t.stream].at(self.offset(t))

    def arrive(self, t, now):
        self.arrived[t.stream] += 1
        self.positions[t.stream].see(t.keys[0])

    def insert(self, t, now):
        self.members.add(t)
        self.inserted[t] = self.stamp()
        self.entered[t] = self.offset(t), self.arrived[1 - t.stream]
        self.matched[t] = 0

    def match(self, t, now):
        self.matched[t] += 1

    def remove(self, t, now):
        self.members.remove(t)
        del self.inserted[t]
        offset, since = self.entered.pop(t)
        steps = self.arrived[1 - t.stream] - since
        self.benefits[t.stream].observe(offset, self.matched.pop(t), steps)

    def victim(self, newcomer, now):
        lowest = min(self._looked_at(), key=lambda t: (self.score(t), self.inserted[t]))
        if self.admit == "compete" and self.score(newcomer) < self.score(lowest):
            return None
        return lowest

    def _looked_at(self):
        held = len(self.members)
        if held <= self.scan:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(self.sample)]
