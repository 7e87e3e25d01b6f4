"""HEEB: evicts the tuple whose expected gains, weighed by the chance to be still held, are lowest.

Needs a model of each stream, and works for one two-way join, or for a cache (`caching`: only the
first reference to a tuple is a gain).

The time of a stream is the number of its last arrival (0, 1, ...), so that the next one is d = 1;
with `clock="time"` it is the time of the latest arrival of any stream.

Source: the HEEB paper, section 5.3; models as in sections 7.2 to 7.5.
"""

from ..heeb import caching_gains, joining_table, score_of_gains
from .sampled import Sampled


class Heeb(Sampled):
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
        super().__init__(seed, budget, joins, admit, scan, sample)
        self.models, self.lifetime, self.horizon = models, lifetime, horizon
        self.caching, self.clock = caching, clock
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


class HeebBeforeItKnows(Heeb):
    """HEEB without models, before it has seen enough to fit some: evicts the oldest until then."""

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
