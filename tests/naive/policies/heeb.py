"""HEEB: the tuple goes whose expected gains, weighed by the chance to be still held, are lowest.

Needs a model of each stream, and works for one two-way join, or for a cache (`caching`: only the
first reference to a tuple is a gain). All scores move with time, so they are worked out at the
moment of choice: of every held tuple in a small memory, of a random sample in a large one. Ties:
the older goes.

The time of a stream is the number of its last arrival (0, 1, ...), so that the next one is d = 1;
with `clock="time"` it is the time of the latest arrival of any stream.

Source: the HEEB paper, section 5.3; models as in sections 7.2 to 7.5.
"""

from ..heeb import caching_gains, joining_table, score_of_gains
from ..members import Members
from ..rng import SplitMix
from .base import Policy, check_admit


class Heeb(Policy):
    def __init__(
        self,
        seed,
        budget,
        joins,
        models,  # of stream 0 and of stream 1; of a cache only the latter, the references
        lifetime,  # L(d)
        horizon,
        caching=False,
        clock="arrivals",
        admit="compete",
        scan=512,
        sample=16,
    ):
        super().__init__(seed, budget, joins)
        self.models, self.lifetime, self.horizon = models, lifetime, horizon
        self.caching, self.clock = caching, clock
        self.admit = check_admit(admit)
        self.scan, self.sample = scan, sample
        self.rng = SplitMix(seed)
        self.members = Members()
        self.inserted = {}  # held tuple -> stamp
        self.arrived = [0, 0]
        self.last = [None if model is None else model.start for model in models]
        self.known = {}  # (stream, context) -> offset of a value from the origin -> score

    def score(self, t, now):
        """Return H. Values at the same offset in the same context see the same future."""
        other = 1 - t.stream
        model, x = self.models[other], self.last[other]
        time = now if self.clock == "time" else self.arrived[other] - 1
        known = self.known.setdefault((other, model.context(time, x)), {})
        origin = model.origin(time, x)
        v = t.keys[0]
        if self.caching and v - origin not in known:
            gains = caching_gains(model, v, time, x, self.horizon)
            known[v - origin] = score_of_gains(gains, self.lifetime)
        elif not known:  # joining: all values at once; what is not in the table cannot come
            table = joining_table(model, time, x, self.lifetime, self.horizon)
            known.update((value - origin, score) for value, score in table.items())
        return known.get(v - origin, 0.0)

    def arrive(self, t, now):
        self.arrived[t.stream] += 1
        self.last[t.stream] = t.keys[0]

    def insert(self, t, now):
        self.members.add(t)
        self.inserted[t] = self.stamp()

    def remove(self, t, now):
        self.members.remove(t)
        del self.inserted[t]

    def victim(self, newcomer, now):
        lowest = min(self._looked_at(), key=lambda t: (self.score(t, now), self.inserted[t]))
        if self.admit == "compete" and self.score(newcomer, now) < self.score(lowest, now):
            return None
        return lowest

    def _looked_at(self):
        held = len(self.members)
        if held <= self.scan:
            return self.members.tuples
        return [self.members[self.rng.below(held)] for _ in range(self.sample)]


class HeebBeforeItKnows(Heeb):
    """HEEB without models, before it has seen enough to fit some: until then the oldest goes."""

    FIRST_FIT = 256  # arrivals

    def __init__(self, seed, budget, joins):
        super().__init__(seed, budget, joins, models=(None, None), lifetime=None, horizon=0)
        self.seen = 0

    def arrive(self, t, now):
        self.seen += 1
        if self.seen > self.FIRST_FIT:
            raise NotImplementedError("this twin knows only the time before the first fit")

    def score(self, t, now):
        return 0.0
