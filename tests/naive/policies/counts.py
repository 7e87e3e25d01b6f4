"""How often the keys have arrived on every leg of every join, as far as they are remembered.

Keys are dealt out to rows of eight chairs by their hashes. A key that finds no free chair in its
row takes that of the key of least weight there, which is forgotten. A weight is 16 for every
arrival; it is halved after 64 budgets of arrivals, and in between it falls along a straight line in
64 steps, rounded down.
"""

from collections import Counter
from dataclasses import dataclass, field

from tests.naive.rng import MASK, mix

FEWEST, PER_ROW = 1024, 4  # chairs, and chairs for each row of the budget
CHAIRS = 8
STEPS = 64


@dataclass
class Remembered:
    """One key of a join."""

    key: int
    weight: int = 0
    since: int = 0  # the step in which it had that weight
    came: Counter = field(default_factory=Counter)  # by leg

    def weight_in(self, step):
        halvings, rest = divmod(step - self.since, STEPS)
        return self.weight // 2**halvings * (2 * STEPS - rest) // (2 * STEPS)


class ArrivalCounts:
    """Counts since a key was last new, kept per join and key."""

    def __init__(self, joins, budget=None):
        self.joins = joins
        rows = 65_536 if budget is None else budget
        self.rows = (FEWEST + PER_ROW * rows + CHAIRS - 1) // CHAIRS
        self.life = 64 * max(512, rows)
        self.arrived = Counter()  # by join
        self.seated = {}  # (join, row of chairs) -> Remembered, in the order of chairs

    def add(self, t):
        for join, leg, key in self.places(t):
            step = 1 + self.arrived[join] // (self.life // STEPS)
            self.arrived[join] += 1
            found = self._find(join, key) or self._seat(join, key, step)
            found.weight = min(found.weight_in(step) + 16, 2**31)
            found.since = step
            found.came[leg] += 1

    def _row(self, join, key):
        number = (mix(key & MASK) >> 32) * self.rows >> 32
        return self.seated.setdefault((join, number), [])

    def _find(self, join, key):
        return next((each for each in self._row(join, key) if each.key == key), None)

    def _seat(self, join, key, step):
        row, new = self._row(join, key), Remembered(key)
        if len(row) < CHAIRS:
            row.append(new)
        else:
            weights = [each.weight_in(step) for each in row]
            row[weights.index(min(weights))] = new
        return new

    def on_other_legs(self, t):
        """Return, for each join of t, how often its key has arrived on each of the other legs."""
        return [
            [self.count(join, other, key) for other in range(len(self.joins[join])) if other != leg]
            for join, leg, key in self.places(t)
        ]

    def count(self, join, leg, key):
        found = self._find(join, key)
        return 0 if found is None else found.came[leg]

    def places(self, t):
        """Return (join, leg, key) wherever the stream of t is a leg."""
        return [
            (number, leg, t.keys[attribute])
            for number, join in enumerate(self.joins)
            for leg, (stream, attribute) in enumerate(join)
            if stream == t.stream
        ]
