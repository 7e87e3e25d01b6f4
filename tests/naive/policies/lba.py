"""LBA and ELBA: evict what is expected least often in the next T arrivals of the other legs.

The probability of a key i arrivals from now follows from the locality model by the paper's
recursion, P_i = b P + sum of a over its arrivals so far that are near enough + sum of a_j P_{i-j};
P is its share of what came so far. A worth is the sum of P_1 .. P_T, times the arrivals of the leg;
over several other legs worths multiply, over several joins they add up. Ties: what expires sooner
is evicted, then the older.

Without weights, and before enough has come to learn some, the worth is the count alone.

Source: the locality paper, section 4.1.
"""

from math import prod

from .base import Policy, check_admit
from .counts import ArrivalCounts


class Lba(Policy):
    WARM_UP = 2048  # arrivals

    def __init__(self, seed, budget, joins, weights=None, steps=None, admit="compete"):
        super().__init__(seed, budget, joins)
        self.admit = check_admit(admit)
        streams = 1 + max(stream for join in joins for stream, _ in join)
        self.weights = weights  # of each stream: (a_1 .. a_h, b)
        self.steps = steps or max(1, (budget or 65_536) // (2 * streams))
        self.counts = ArrivalCounts(joins, budget)
        self.came = {}  # (join, leg) -> keys in the order of arrival
        self.inserted = {}  # held tuple -> stamp
        self.seen = 0

    def arrive(self, t, now):
        self.seen += 1
        if self.seen > self.WARM_UP:
            raise NotImplementedError("this twin does not learn")
        self.counts.add(t)
        for join, leg, key in self.counts.places(t):
            self.came.setdefault((join, leg), []).append(key)

    def insert(self, t, now):
        self.inserted[t] = self.stamp()

    def remove(self, t, now):
        del self.inserted[t]

    def victim(self, newcomer, now):
        worths = {}  # of keys; many tuples share one

        def rank(t):
            alike = t.stream, t.keys, tuple(self.gains(t))
            if alike not in worths:
                worth = self.worth(t)
                worths[alike] = round(worth, 9) if self.weights else worth
            return worths[alike], t.deadline

        lowest = min(self.inserted, key=lambda t: (*rank(t), self.inserted[t]))
        if self.admit == "compete" and rank(newcomer) < rank(lowest):
            return None
        return lowest

    def worth(self, t):
        if self.weights is None:
            legs = zip(self.gains(t), self.counts.on_other_legs(t), strict=True)
            return sum(prod(counts, start=gain) for gain, counts in legs)
        return sum(
            prod(
                (
                    self.expected(join, other, key)
                    for other in range(len(self.joins[join]))
                    if other != leg
                ),
                start=gain,
            )
            for gain, (join, leg, key) in zip(self.gains(t), self.counts.places(t), strict=True)
        )

    def expected(self, join, leg, key):
        """Return how often a key is expected on a leg, times the arrivals there."""
        past = self.came.get((join, leg), [])
        if not past:
            return 0.0
        a, b = self.weights[self.joins[join][leg][0]]
        recent = [past[-lag] == key for lag in range(1, min(len(a), len(past)) + 1)]
        chances = []
        for i in range(1, self.steps + 1):
            chance = b * past.count(key) / len(past)
            # what came `lag` arrivals ago will have come lag + i - 1 before this one
            chance += sum(
                a[lag + i - 2]
                for lag, same in enumerate(recent, start=1)
                if same and lag + i - 1 <= len(a)
            )
            chance += sum(a[j - 1] * chances[i - j - 1] for j in range(1, min(len(a), i - 1) + 1))
            chances.append(chance)
        return len(past) * sum(chances)
