"""Histogram HEEB: the gains of a tuple at some offset from the other stream, learned by watching.

Two histograms over the offset (value minus the other stream's position) describe the tuples that
have left the memory, by the offset at which they entered: one the matches they had, one the
inverse of the steps they were held. A tuple is worth the product of both at its offset now.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), section 6.2.
Where the paper is silent, the simplest was taken:
- Position of a trend: exponential smoothing of its values. It lags behind a linear trend, but
  always by the same, and offsets need only be measured from the same point at all times.
- Start: until `every` tuples have left nothing is known and all are worth the same. Then their
  range is cut into buckets of equal width.
- Every further `every` observations old ones decay, then one bucket is split and two are merged.
- Decay: counts and sums of squares shrink, mean and deviation stay, so the past weighs less.
- Split: the bucket that deviates most, in the middle; both halves have its mean and deviation and
  half its count. A bucket of a single offset is not split.
- Merge: the two neighbours that deviate least together, to make room for the split, and only if
  they deviate less than the bucket that is split. Without room and without them, no split.
- Deviating is weighed by the count: it is the sum of squares. By the plain deviation, which is
  mostly the chance in a few matches, one range is soon cut to single offsets and the rest is one
  bucket.
- An offset outside all buckets belongs to the nearest, which stretches if it is observed there.
"""

import math
from dataclasses import dataclass, replace


@dataclass
class Bucket:
    """Observations at offsets low ... high; the recurrence for mean and deviation is Knuth's."""

    low: int
    high: int
    count: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared distances from the mean

    @property
    def deviation(self):
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def add(self, x):
        self.count += 1
        before = x - self.mean
        self.mean += before / self.count
        self.squares += before * (x - self.mean)

    def decay(self, factor):
        self.count *= factor
        self.squares *= factor

    def halves(self):
        """Return two buckets that know, each, half of what this one knows."""
        middle = (self.low + self.high) // 2
        half = replace(self, count=self.count / 2, squares=self.squares / 2)
        return [replace(half, high=middle), replace(half, low=middle + 1)]

    def merged(self, other):
        """Return this bucket and its right neighbour as one."""
        count = self.count + other.count
        share = other.count / count if count else 0.0
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * self.count * share
        return Bucket(self.low, other.high, count, self.mean + apart * share, squares)


class Histogram:
    def __init__(self, buckets=10, every=300, decay=0.9):
        self.most, self.every, self.factor = buckets, every, decay
        self.first = []  # (offset, observation) until there are enough to lay buckets out
        self.buckets = []  # from left to right, without gaps
        self.added = 0

    def mean(self, offset):
        """Return the mean of the observations near an offset; None while there are no buckets."""
        return self.buckets[self._nearest(offset)].mean if self.buckets else None

    def add(self, offset, x):
        self.added += 1
        if self.buckets:
            self._place(offset, x)
        else:
            self.first.append((offset, x))
        if self.added == self.every:
            self._lay_out()
        elif self.added % self.every == 0:
            for bucket in self.buckets:
                bucket.decay(self.factor)
            self._rearrange()

    def _lay_out(self):
        low, high = (end(offset for offset, _ in self.first) for end in (min, max))
        width = math.ceil((high - low + 1) / self.most)
        self.buckets = [Bucket(at, at + width - 1) for at in range(low, high + 1, width)]
        for offset, x in self.first:
            self._place(offset, x)
        self.first = []

    def _place(self, offset, x):
        self.buckets[0].low = min(self.buckets[0].low, offset)
        self.buckets[-1].high = max(self.buckets[-1].high, offset)
        self.buckets[self._nearest(offset)].add(x)

    def _nearest(self, offset):
        passed = [i for i, bucket in enumerate(self.buckets) if bucket.low <= offset]
        return passed[-1] if passed else 0

    def _rearrange(self):
        wide = [bucket for bucket in self.buckets if bucket.low < bucket.high]
        if not wide:
            return
        split = max(wide, key=lambda bucket: bucket.squares)
        if len(self.buckets) == self.most and not self._merge(split):
            return
        place = self.buckets.index(split)
        self.buckets[place : place + 1] = split.halves()

    def _merge(self, spared):
        """Merge the neighbours most alike, if they are more alike than what `spared` holds."""
        pairs = [
            (a.merged(b), i)
            for i, (a, b) in enumerate(zip(self.buckets, self.buckets[1:], strict=False))
            if spared not in (a, b)
        ]
        merged, place = min(pairs, key=lambda p: p[0].squares, default=(None, None))
        if merged is None or merged.squares >= spared.squares:
            return False
        self.buckets[place : place + 2] = [merged]
        return True


class Position:
    """Where a stream is: at its last value (a walk), or at the smoothed mean of its values."""

    def __init__(self, form, smoothing=0.05):
        if form not in ("trend", "walk"):
            raise ValueError(f"form must be 'trend' or 'walk', got {form!r}")
        self.weight = smoothing if form == "trend" else 1.0
        self.value = None

    def see(self, v):
        self.value = v if self.value is None else self.value + self.weight * (v - self.value)

    def offset(self, v):
        """Return the distance of v in whole numbers; 0 while the stream has not begun."""
        return 0 if self.value is None else v - math.floor(self.value + 0.5)


class Benefit:
    """The two histograms of the tuples that wait for one stream."""

    def __init__(self, **options):
        self.matches = Histogram(**options)
        self.inverse_life = Histogram(**options)

    def observe(self, offset, matches, steps):
        self.matches.add(offset, matches)
        self.inverse_life.add(offset, 1 / max(1, steps))

    def at(self, offset):
        """Return what a tuple there is worth; infinity before anything is known."""
        matches = self.matches.mean(offset)
        return math.inf if matches is None else matches * self.inverse_life.mean(offset)
