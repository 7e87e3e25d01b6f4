"""How likely each key is to come next, from how often it came at six time scales, learned online.

An arrival n arrivals old weighs 2^(-n / h) at the half-life h, with n counted in steps of h / 64;
at the last scale it weighs 1 for ever. A key's share of all weight is its frequency at that scale.
A weighted sum over all legs and scales foretells a leg; after each arrival there the weights move
towards the parts that they had in foretelling it, if its key was known. What is foretold of a leg
counts by the share that the leg has of its join's arrivals, which fades too.

Sums are kept to 12 binary digits; what lies between goes up if a number drawn for the arrival says
so.

The keys are in a list of limited length. When it is full the next key takes the place of the
lightest of the next eight that are not held.
"""

from dataclasses import dataclass, field
from math import floor, inf, prod

from tests.naive.rng import mix

SCALES = 6
LONGEST = 4  # of the scales that end


@dataclass
class Past:
    """What is known of a key of a join: by leg the last arrival, and the sum at each scale."""

    join: int
    key: int
    last: dict = field(default_factory=dict)
    sums: dict = field(default_factory=dict)
    held: int = 0


def half_lives(longest):
    ratio = longest ** (1 / 4)
    return [float(round(ratio**i)) for i in range(4)] + [float(round(longest)), inf]


def rounded(value, drawn):
    """Return a number that has 12 digits from its first on: the lower or the upper neighbour."""
    step = 1 / 2048
    while value >= 4096 * step:
        step *= 2
    return floor(value / step + drawn) * step


class Rates:
    def __init__(self, joins, scale, half_life=None):
        self.joins = joins
        self.lives = half_lives(16 * max(512, scale))
        self.learns = half_life is None
        if half_life is not None:
            self.lives[0] = half_life
        self.most = 1024 + 2 * scale
        self.least = 0.01 / max(100, scale)
        self.pace = 1 / max(1000, scale)
        self.fading = 1 / max(512, scale, half_life or 0)
        self.often = {  # (join, leg) -> its share of the join's arrivals lately
            (number, leg): 1 / len(join)
            for number, join in enumerate(joins)
            for leg in range(len(join))
        }
        self.arrived = {}  # (join, leg) -> arrivals
        self.mass = {}  # (join, leg) -> at each scale the weight of all of them
        self.keys = {}  # (join, key) -> Past
        self.line = []  # the same in the order in which they are looked at
        self.hand = 0
        self.weights = {}  # (join, target) -> {(leg, scale): weight}
        for number, join in enumerate(joins):
            for target in range(len(join)):
                self.weights[number, target] = {
                    (leg, scale): self._first(len(join), target, leg, scale)
                    for leg in range(len(join))
                    for scale in range(SCALES)
                }

    def _first(self, legs, target, leg, scale):
        if self.learns:
            return 1 / (SCALES * legs)
        return 1.0 if (leg, scale) == (target, 0) else 0.0

    def places(self, t):
        return [
            (number, leg, t.keys[attribute])
            for number, join in enumerate(self.joins)
            for leg, (stream, attribute) in enumerate(join)
            if stream == t.stream
        ]

    def find(self, t):
        """Return what is known of a tuple's keys: (leg, Past or None) for each of its joins."""
        return [(leg, self.keys.get((join, key))) for join, leg, key in self.places(t)]

    def expected(self, found, gain):
        """Return what is to be gained of keys that were found; `gain` is by join."""
        total = 0.0
        for leg, past in found:
            if past is not None:
                others = [other for other in range(len(self.joins[past.join])) if other != leg]
                total += prod(
                    (self.awaited(past, other) for other in others), start=gain(past.join)
                )
        return total

    def awaited(self, past, target):
        return self.chance(past, target) * self.often[past.join, target]

    def chance(self, past, target):
        total = 0.0
        for (leg, scale), weight in self.weights[past.join, target].items():
            if leg in past.last and weight > self.least:
                total += weight * self._frequency(past, leg, scale)
        return total

    def _frequency(self, past, leg, scale):
        return self._sum(past, leg, scale) * (1.0 / self.mass[past.join, leg][scale])

    def _sum(self, past, leg, scale):
        if leg not in past.last:
            return 0.0
        since = past.last[leg]
        return past.sums[leg][scale] * self._fading(past.join, leg, scale, since)

    def _fading(self, join, leg, scale, since):
        pace = 64 / self.lives[scale]
        ticks = floor(self.arrived[join, leg] * pace) - floor(since * pace)
        return 2.0 ** (-ticks / 64) if ticks < 64 * 40 else 0.0

    def note(self, t):
        for join, leg, key in self.places(t):
            past = self.keys.get((join, key))
            if past is None:
                past = self._enter(join, key)
            elif self.learns:
                self._learn(past, join, leg)
            before = self.arrived.get((join, leg), 0)
            self.arrived[join, leg] = before + 1
            mass = self.mass.setdefault((join, leg), [0.0] * SCALES)
            for scale in range(SCALES):
                mass[scale] = mass[scale] * self._fading(join, leg, scale, before) + 1
            if past is not None:
                drawn = (mix(before + 1) >> 32) / 2**32
                sums = [self._sum(past, leg, scale) + 1 for scale in range(SCALES)]
                past.sums[leg] = [rounded(each, drawn) for each in sums]
                past.last[leg] = self.arrived[join, leg]
            legs = range(len(self.joins[join]))
            arrived = sum(self.arrived.get((join, other), 0) for other in legs)
            step = max(self.fading, 1 / (10 + arrived))
            for other in legs:
                self.often[join, other] *= 1 - step
            self.often[join, leg] += step

    def _learn(self, past, join, target):
        weights = self.weights[join, target]
        parts = {
            (leg, scale): weight * self._frequency(past, leg, scale) if leg in past.last else 0.0
            for (leg, scale), weight in weights.items()
        }
        total = 0.0
        for part in parts.values():
            total += part
        step = max(self.pace, 1 / (10 + self.arrived.get((join, target), 0)))
        for place, weight in weights.items():
            after = (1 - step) * weight + step / total * parts[place]
            weights[place] = max(self.least, after)

    def _enter(self, join, key):
        past = Past(join, key)
        if len(self.line) < self.most:
            self.line.append(past)
        else:
            looked = [(self.hand + i) % len(self.line) for i in range(8)]
            self.hand = looked[-1] + 1
            free = [place for place in looked if self.line[place].held == 0]
            if not free:
                return None
            place = min(free, key=lambda place: self._weight(self.line[place]))
            gone, self.line[place] = self.line[place], past
            del self.keys[gone.join, gone.key]
        self.keys[join, key] = past
        return past

    def _weight(self, past):
        total = 0.0
        for leg in range(len(self.joins[past.join])):
            total += self._sum(past, leg, LONGEST)
        return total
