"""Sources and a cache over a network that loses, delays, doubles and reorders; both are restarted.

Whatever happens, no answer may miss the truth as of the last delivered message: the interval that
the cache holds must contain every value that the source had from sending that message until it sent
the next one.
"""

import heapq
import math
from collections import Counter

import numpy as np

from penstock.precision import Cache, Query, Source

KEYS = [f"s{i}" for i in range(12)]
KINDS = [("sum", None), ("avg", None), ("max", None), ("min", None), ("count", 1.0)]
KINDS += [("quantile", 0.5), ("quantile", 0.9)]
CHUNK = 100_000  # steps whose random numbers are drawn at once
QUIET = 400.0  # max_silence
ASK_EVERY = 100  # steps
KEPT = 400  # sent messages remembered for each key, beyond which an old cache is behind anyway


class World:
    """Everything, and the truth beside it."""

    def __init__(self, rule, seed):
        self.random = np.random.default_rng(seed)
        self.rule, self.now, self.run = rule, 0.0, 0
        self.counts = Counter()
        self.flight = []  # (arrival, tie, refresh)
        self.seen = {key: {} for key in KEYS}  # by message: the last value before the next one
        self.cache = Cache(capacity=10, grace=100.0)
        self.saved = self.cache.save()
        self.sources = {}
        for key in KEYS:
            self.start(key, 0.0)

    def start(self, key, value):
        """Start a source, which has forgotten everything but that it was there before."""
        self.run += 1
        options = {"max_silence": QUIET, "seed": self.run, "run": self.run}
        limits = [0.0] if key == KEYS[0] and "growing" not in self.rule else []
        self.sources[key] = Source(key, value, rule=self.rule, limits=limits, **options)
        self.send(self.sources[key].subscribe("cache", self.now))

    def send(self, refresh):
        """Put a message on the wire: perhaps late, perhaps twice, perhaps not at all."""
        seen = self.seen[refresh.key]
        seen[refresh.order] = refresh.value
        if len(seen) > KEPT:
            del seen[next(iter(seen))]
        self.counts["sent"] += 1
        fate = self.random.random()
        if fate < 0.05:
            self.counts["lost"] += 1
            return
        for _ in range(2 if fate > 0.95 else 1):
            late = self.random.integers(1, 60) if fate > 0.8 else 0
            self.counts["late"] += late > 0
            heapq.heappush(self.flight, (self.now + late, self.counts["sent"], refresh))

    def deliver(self):
        while self.flight and self.flight[0][0] <= self.now:
            _, _, refresh = heapq.heappop(self.flight)
            before = self.cache._last.get(refresh.key, (0, 0))
            self.counts["delivered" if self.cache.receive(refresh) else "ignored"] += 1
            self.counts["went back"] += self.cache._last[refresh.key] < before

    def step(self, key, change):
        source = self.sources[key]
        value = source.value + change
        for refresh in source.update(value, self.now).values():
            self.send(refresh)
        last = next(reversed(self.seen[key]))
        self.seen[key][last] = value

    def beat(self):
        for source in self.sources.values():
            for refresh in source.tick(self.now).values():
                self.send(refresh)

    def truth(self, key):
        """Return the value as of the last message that the cache took; None if that is long ago."""
        return self.seen[key].get(self.cache._last[key])

    def ask(self):
        """Ask something, and check the answer."""
        kind, at = KINDS[self.random.integers(len(KINDS))]
        keys = [key for key in KEYS if key in self.cache.keys and self.random.random() < 0.6]
        if not keys:
            return
        truths = {key: self.truth(key) for key in keys}
        if None in truths.values():
            self.counts["unchecked"] += 1
            return
        delta = float(self.random.choice([0.0, 1.0, 5.0, 30.0]))
        relative = bool(self.random.random() < 0.2)
        query = Query(kind, delta / 100 if relative else delta, relative, at)
        asking = self.cache.ask(query, self.now, keys, patient=bool(self.random.random() < 0.2))
        while asking.wanted:
            for key in asking.wanted:
                if self.random.random() < 0.02:
                    asking.fail(key)
                else:
                    refresh = self.sources[key].ask("cache", self.now, need=asking.need(key))
                    self.seen[key][refresh.order] = refresh.value
                    truths[key] = refresh.value
                    asking.supply(refresh)
        self.check(query, asking.answer, list(truths.values()))

    def check(self, query, answer, values):
        self.counts["queries"] += 1
        self.counts["too wide"] += not answer.within
        truth = exact_answer(query, values)
        slack = 2 * math.ulp(truth) if query.kind == "avg" else 0.0
        if not answer.low - slack <= truth <= answer.high + slack:
            self.counts["missed"] += 1

    def mishap(self):
        """Restart a source or the cache, or lose a source for a while."""
        kind = self.random.integers(4)
        key = KEYS[self.random.integers(len(KEYS))]
        if kind == 0:
            self.start(key, self.sources[key].value + self.random.normal() * 20)
        elif kind == 1:
            self.cache = Cache.restore(self.saved)  # wakes up with what it knew some time ago
        elif kind == 2:
            self.saved = self.cache.save()
        elif key in self.cache.keys:
            self.cache.lose(key)
        self.counts["mishaps"] += 1


def exact_answer(query, values):
    if query.kind in ("sum", "avg"):
        return math.fsum(values) / (len(values) if query.kind == "avg" else 1)
    if query.kind == "count":
        return float(sum(value > query.at for value in values))
    share = {"min": 0.0, "max": 1.0}.get(query.kind, query.at)
    return sorted(values)[max(1, math.ceil(share * len(values) - 1e-9)) - 1]


def run(rule, steps, seed):
    """Return what happened in so many steps."""
    world = World(rule, seed)
    for first in range(0, steps, CHUNK):
        n = min(CHUNK, steps - first)
        keys = world.random.integers(0, len(KEYS), n).tolist()
        changes = world.random.normal(size=n).tolist()
        for i in range(n):
            world.now += 1.0
            world.step(KEYS[keys[i]], changes[i])
            if world.flight:
                world.deliver()
            if i % ASK_EVERY == 0:
                world.beat()
                world.ask()
            if i % 5_000 == 4_999:
                world.mishap()
    return dict(world.counts)
