"""HIST, histogram HEEB: as HEEB, but the gains are learned; only the form of the streams is given.

For one two-way join, or a cache. Each side has its own curve of what a tuple is worth over its
offset from the other stream. It is learned from watched tuples, whether they are held or not. What
one of them gains counts by the chance that it would be held still, and after an average life the
rest is read off the curve. Time is the number of arrivals of the stream waited for.

Source: the HEEB paper, section 6.2; see ..histogram_heeb for what it leaves open.
"""

from ..histogram_heeb import Histogram, Position, Watched
from .sampled import Sampled


class Hist(Sampled):
    def __init__(
        self,
        seed,
        budget,
        joins,
        form="auto",
        buckets=20,
        every=300,
        decay=0.9,
        smoothing=0.05,
        watch=32,
        admit="compete",
    ):
        super().__init__(seed, budget, joins, admit)
        self.arrived = [0, 0]
        self.positions = [Position(form, smoothing) for _ in range(2)]
        # by the side that waits
        self.worth = [Histogram(buckets, every, decay) for _ in range(2)]
        self.watch = watch
        self.watched = [[], []]

    def offset(self, side, key):
        return self.positions[1 - side].offset(key)

    def score(self, t, now):
        return self.worth[t.stream].at(self.offset(t.stream, t.keys[0]))

    def arrive(self, t, now):
        (key,), side = t.keys, 1 - t.stream  # those of `side` wait for it
        self.arrived[t.stream] += 1
        if self.positions[t.stream].see(key):
            self.worth[side].clear()
            self.watched[side].clear()
        self.teach(side, key, now)
        if not self.caching:
            self.begin(t.stream, key, now)
        self.begin(side, key, now)
        if sum(self.arrived) >= 4096:
            self.arrived = [n // 2 for n in self.arrived]

    def teach(self, side, key, now):
        life = len(self.members) * self.arrived[1 - side] / sum(self.arrived)
        lap = max(1, int(life))
        for w in self.watched[side][::-1]:
            place = self.offset(side, w.key)
            if self.together and w.since == now:
                w.offset = place
                continue
            w.weight *= life / (1 + life)
            w.steps += 1
            w.age += 1
            met = w.key == key
            w.worth += w.weight if met else 0
            if met and self.caching:  # only the first reference is a gain
                self.worth[side].add(w.offset, w.worth)
            elif w.steps >= lap:
                self.worth[side].add(w.offset, w.worth + w.weight * self.worth[side].at(place))
            else:
                continue
            if w.age < max(8, 4 * lap):
                w.offset, w.worth, w.weight, w.steps = place, 0.0, 1.0, 0
            else:
                self.leave(side, w)

    def begin(self, side, key, now):
        if len(self.watched[side]) < self.watch and self.positions[1 - side].seen:
            self.watched[side].append(Watched(key, now, self.offset(side, key)))

    def leave(self, side, w):
        """The last one fills the gap."""
        watched = self.watched[side]
        place = [each is w for each in watched].index(True)
        watched[place] = watched[-1]
        watched.pop()
