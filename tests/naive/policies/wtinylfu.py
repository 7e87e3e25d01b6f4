"""W-TinyLFU: a small LRU window, and a contest of popularity for the way into the main memory.

Newcomers enter the window. When room is needed, the window's least recent tuple and the main
memory's least recent one are compared by how often their keys have arrived lately; the less
popular is evicted. The main memory is a segmented LRU: probation, and protected after a match. The
popularity is a count-min sketch whose counters are halved now and then, so that it forgets.

Source: Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy" (ACM
Transactions on Storage, 2017).
Departures: the sketch counts the first key of every arrival of all streams; the sizes of the
segments are shares of what is held, as expiry may leave the memory far from full.
"""

import math
from collections import Counter

from ..rng import MASK, mix
from .base import Policy

SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
LARGEST = 15  # a counter stops here


class Sketch:
    """Approximate counts of keys: never too low (but for forgetting), too high on collisions."""

    def __init__(self, at_least):
        keys = 64
        while keys < at_least:
            keys *= 2
        self.width = 4 * keys
        self.sample = 10 * keys  # additions between two halvings
        self.rows = [Counter() for _ in SEEDS]  # position -> count; sparse, as most stay 0
        self.additions = 0

    def add(self, key):
        for row, position in zip(self.rows, self._positions(key), strict=True):
            row[position] = min(LARGEST, row[position] + 1)
        self.additions += 1
        if self.additions >= self.sample:
            self._halve()

    def estimate(self, key):
        return min(
            row[position] for row, position in zip(self.rows, self._positions(key), strict=True)
        )

    def _positions(self, key):
        return [mix((key & MASK) ^ seed) & (self.width - 1) for seed in SEEDS]

    def _halve(self):
        for row in self.rows:
            for position in row:
                row[position] >>= 1
        self.additions >>= 1


class WTinyLfu(Policy):
    def __init__(self, seed, budget, joins, window=0.01, protected=0.8):
        super().__init__(seed, budget, joins)
        self.window_share = window
        self.protected_share = protected
        self.window = []  # least recent first, as are the other two
        self.probation = []
        self.protected = []
        self.sketch = Sketch(65536 if budget is None else budget)

    def arrive(self, t, now):
        self.sketch.add(t.keys[0])

    def insert(self, t, now):
        self.window.append(t)
        while len(self.window) > self._window_size():
            self.probation.append(self.window.pop(0))

    def match(self, t, now):
        if t in self.probation:
            self.probation.remove(t)
            self.protected.append(t)
            while len(self.protected) > max(1, self._protected_size()):
                self.probation.append(self.protected.pop(0))
        else:
            segment = self.window if t in self.window else self.protected
            segment.remove(t)
            segment.append(t)

    def remove(self, t, now):
        for segment in (self.window, self.probation, self.protected):
            if t in segment:
                segment.remove(t)

    def victim(self, newcomer, now):
        candidate = self.window[0] if len(self.window) >= self._window_size() else None
        main = next(iter(self.probation + self.protected), None)
        if candidate is None or main is None:
            return candidate or main
        if self._popularity(candidate) > self._popularity(main):
            self.probation.append(self.window.pop(0))
            return main
        return candidate

    def _popularity(self, t):
        return self.sketch.estimate(t.keys[0])

    def _window_size(self):
        held = len(self.window) + len(self.probation) + len(self.protected)
        return max(1, math.floor(self.window_share * held))

    def _protected_size(self):
        return math.floor(self.protected_share * (len(self.probation) + len(self.protected)))
