"""The simulator of the precision paper (section 4.1), as plain Python objects and a list of events.

Everything happens at a time; at one time updates come before queries. The order in which random
numbers are drawn is part of what is compared: one for a step of a walk (its direction and its
size); for a query first those that pick its sources, then one for δ; one for each refresh.
"""

import math

import numpy as np

from tests.naive.precision_rules import RULES
from tests.naive.rng import SplitMix


def generator(seed, *path):
    return SplitMix(int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0]))


class Copy:
    """What a cache was last sent of a value, and what the source remembers about it."""

    def __init__(self, rule, value, now):
        self.rule = rule
        self.held = False
        self.sent(value, now)

    def sent(self, value, now):
        self.at = now
        self.low, self.high = self.rule.interval(value)
        self.badness = self.rule.badness()

    def ends(self, now):
        return self.low(now - self.at), self.high(now - self.at)

    def withdraw(self):
        self.low = lambda passed: -math.inf
        self.high = lambda passed: math.inf


class World:
    """Sources, caches, and the log of all refreshes."""

    def __init__(self, rule, params, values, c_vr, load, seed, caches=1, now=0.0):
        self.values, self.load, self.told = list(values), load, rule == "exact"
        self.copies = [
            [Copy(RULES[rule](c_vr, 2.0, **params), value, now) for value in values]
            for _ in range(caches)
        ]
        for copies in self.copies:
            for copy in copies[: load["capacity"]]:
                copy.held = True
        self.asking = [generator(seed, 1, cache) for cache in range(caches)]
        self.coins = [generator(seed, 2, cache) for cache in range(caches)]
        self.pools = [list(range(len(values))) for _ in range(caches)]
        self.next = [now + load["period"]] * caches
        self.log = []

    def update(self, source, value, now):
        changed = value != self.values[source]
        self.values[source] = value
        for cache, copies in enumerate(self.copies):
            if changed:
                copies[source].rule.wrote(value, now)
            self.check(cache, source, now)

    def check(self, cache, source, now):
        low, high = self.copies[cache][source].ends(now)
        if self.values[source] > high:
            self.refresh(cache, source, now, "above", 0.0)
        elif self.values[source] < low:
            self.refresh(cache, source, now, "below", 0.0)

    def refresh(self, cache, source, now, why, need):
        copy, value = self.copies[cache][source], self.values[source]
        copy.rule.refreshed(why, value, now, need, self.coins[cache].uniform())
        copy.sent(value, now)
        self.log.append((now, cache, source, why, *copy.ends(now), value))
        self.make_room(cache, copy)

    def make_room(self, cache, copy):
        held = [other for other in self.copies[cache] if other.held]
        if copy.held:
            return
        copy.held = True
        if len(held) == self.load["capacity"]:
            worst = max([*held, copy], key=lambda other: other.badness)
            if worst.badness == copy.badness:
                worst = copy
            worst.held = False
            if self.told:
                worst.withdraw()

    def queries(self, before):
        for cache in range(len(self.copies)):
            while self.next[cache] < before:
                self.query(cache, self.next[cache])
                self.next[cache] += self.load["period"]

    def query(self, cache, now):
        chosen = self.pick(cache)
        low, high = self.load["delta"]
        delta = low + self.asking[cache].uniform() * (high - low)
        n = len(chosen)
        for source in chosen:
            self.check(cache, source, now)
            need = delta if self.load["extreme"] else delta / n
            self.copies[cache][source].rule.was_read(need, now)
        if self.load["extreme"]:
            self.largest(cache, chosen, delta, now)
        else:
            self.total(cache, chosen, delta, now)

    def pick(self, cache):
        pool, n = self.pools[cache], self.load["asked"]
        if n < len(pool):
            for i in range(n):
                j = i + self.asking[cache].below(len(pool) - i)
                pool[i], pool[j] = pool[j], pool[i]
        return pool[:n]

    def known(self, cache, source, now):
        copy = self.copies[cache][source]
        return copy.ends(now) if copy.held else (-math.inf, math.inf)

    def total(self, cache, chosen, delta, now):
        ends = {source: self.known(cache, source, now) for source in chosen}
        widths = {source: high - low for source, (low, high) in ends.items()}
        while sum(widths.values()) > delta:
            widest = max(chosen, key=widths.get)
            need = delta / len(chosen)
            if widths[widest] < math.inf:
                need = widths[widest] * delta / sum(widths.values())
            widths[widest] = 0.0
            self.refresh(cache, widest, now, "asked", need)

    def largest(self, cache, chosen, delta, now):
        ends = {source: self.known(cache, source, now) for source in chosen}
        floor = max(low for low, _ in ends.values())
        for source, (low, high) in ends.items():
            if high == math.inf == -low:
                self.refresh(cache, source, now, "asked", delta)
            elif high > floor + delta:
                need = max(delta, (high - low) - 2 * (high - floor - delta))
                self.refresh(cache, source, now, "asked", need)


def walk(rule, params, sources, steps, c_vr, load, seed, caches=1):
    """Return all refreshes of random walks with steps of U[0.5, 1.5]."""
    world = World(rule, params, [0.0] * sources, c_vr, load, seed, caches)
    feet = generator(seed, 0)
    for now in range(1, steps + 1):
        world.queries(now)
        for source in range(sources):
            draw = feet.uniform()
            step = 0.5 + 2 * draw if draw < 0.5 else -0.5 - 2 * (draw - 0.5)
            world.update(source, world.values[source] + step, float(now))
    world.queries(steps + 1)
    return world.log


def replay(rule, params, readings, c_vr, load, seed):
    """Return all refreshes of recorded readings: (time, source, value), in the order of time."""
    first = {}
    for _, source, value in readings:
        first.setdefault(source, value)
    values = [first[source] for source in range(len(first))]
    world = World(rule, params, values, c_vr, load, seed, now=readings[0][0])
    for now, source, value in readings:
        world.queries(now)
        world.update(source, value, now)
    return world.log
