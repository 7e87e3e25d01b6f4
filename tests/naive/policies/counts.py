"""How often every key has arrived on every leg of every join."""

from collections import Counter


class ArrivalCounts:
    """Counts since the beginning, kept per (join, leg, key)."""

    def __init__(self, joins):
        self.joins = joins
        self.counts = Counter()

    def add(self, t):
        for join, leg, key in self.places(t):
            self.counts[join, leg, key] += 1

    def on_other_legs(self, t):
        """Return, for each join of t, how often its key has arrived on each of the other legs."""
        return [
            [
                self.counts[join, other, key]
                for other in range(len(self.joins[join]))
                if other != leg
            ]
            for join, leg, key in self.places(t)
        ]

    def places(self, t):
        """Return (join, leg, key) wherever the stream of t is a leg."""
        return [
            (number, leg, t.keys[attribute])
            for number, join in enumerate(self.joins)
            for leg, (stream, attribute) in enumerate(join)
            if stream == t.stream
        ]
