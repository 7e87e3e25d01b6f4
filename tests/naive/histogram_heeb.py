"""Histogram HEEB: what a tuple at some offset from the other stream is worth, learned by watching.

A histogram over the offset (value minus the other stream's position) holds what watched tuples
gained from there on. It is read as a curve: straight between the centres of buckets.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), section 6.2;
docs/decisions/0008 says where and why this departs from it. Where the paper is silent:
- Position of a trend: the line through the past, which fades. Gains of least squares at first.
- Start: until 64 observations are there nothing is known and all are worth nothing. Then they are
  cut into buckets of equal count, equal offsets in the same.
- After every `every` further observations the buckets that know more than so many fade, then one is
  split and two are merged.
- Fading: counts and sums of squares shrink, mean and deviation stay, so the past weighs less.
- Split: the bucket that deviates most, at a whole number next to its centre; both parts have its
  mean and deviation and half its count. A bucket of a single whole number is not split.
- Merge: the two neighbours that deviate least together, to make room for the split, and only if
  they deviate less than the bucket that is split. Without room and without them, no split.
- Deviating is weighed by the count: it is the sum of squares. By the plain deviation, which is
  mostly the chance in a few matches, one range is soon cut to single offsets and the rest is one
  bucket.
- An offset outside all buckets belongs to the nearest, which stretches if it is observed there.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

FIRST = 64


@dataclass
class Bucket:
    """Observations at offsets from `low` to the next bucket; the recurrence is Knuth's."""

    low: float
    centre: float  # mean of the offsets
    count: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared distances from the mean

    @property
    def deviation(self):
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    def add(self, offset, x):
        self.count += 1
        before = x - self.mean
        self.mean += before / self.count
        self.squares += before * (x - self.mean)
        self.centre += (offset - self.centre) / self.count

    def fade(self, factor):
        self.count *= factor
        self.squares *= factor

    def cut(self, high):
        """Return where to split: above the centre if that is inside, else below; None: nowhere."""
        cuts = [float(cut) for cut in (math.ceil(self.centre), math.floor(self.centre))]
        below_high = [cut for cut in cuts if cut < high]
        return next((cut for cut in below_high[:1] if cut > self.low), None)

    def halves(self, high):
        """Return two buckets that know, each, half of what this one knows."""
        cut = self.cut(high)
        half = replace(self, count=self.count / 2, squares=self.squares / 2)
        return [
            replace(half, centre=(self.low + cut) / 2),
            replace(half, low=cut, centre=(cut + high) / 2),
        ]

    def merged(self, other):
        """Return this bucket and its right neighbour as one."""
        count = self.count + other.count
        share = other.count / count if count else 0.0
        apart = other.mean - self.mean
        between = apart * apart * self.count * share
        return Bucket(
            self.low,
            self.centre + (other.centre - self.centre) * share,
            count,
            self.mean + apart * share,
            self.squares + other.squares + between,
        )


class Histogram:
    def __init__(self, buckets=20, every=300, decay=0.9):
        self.most, self.every, self.factor = buckets, every, decay
        self.clear()

    def clear(self):
        self.first = []  # (offset, observation) until there are enough to lay buckets out
        self.buckets = []  # from left to right, without gaps
        self.high = None  # the largest offset
        self.added = 0  # since the buckets were last arranged

    def at(self, offset):
        """Return the curve at an offset; 0 while there are no buckets."""
        if not self.buckets:
            return 0.0
        right = bisect_right([bucket.centre for bucket in self.buckets], offset)
        if right in (0, len(self.buckets)):
            return self.buckets[max(0, right - 1)].mean
        a, b = self.buckets[right - 1 : right + 1]
        return a.mean + (b.mean - a.mean) * ((offset - a.centre) / (b.centre - a.centre))

    def add(self, offset, x):
        if not self.buckets:
            self.first.append((offset, x))
            if len(self.first) == FIRST:
                self._lay_out()
            return
        self._place(offset, x)
        self.added += 1
        if self.added == self.every:
            self.added = 0
            for bucket in self.buckets:
                if bucket.count > self.every:
                    bucket.fade(self.factor)
            self._rearrange()

    def _lay_out(self):
        self.first.sort(key=lambda pair: pair[0])
        groups = []
        for offset, x in self.first:
            full = groups and len(groups[-1]) >= FIRST / self.most and len(groups) < self.most
            if not groups or (full and offset > groups[-1][-1][0]):
                groups.append([])
            groups[-1].append((offset, x))
        self.buckets = [Bucket(group[0][0], group[0][0]) for group in groups]
        self.high = groups[-1][-1][0]
        for offset, x in self.first:
            self._place(offset, x)

    def _place(self, offset, x):
        first = self.buckets[0]
        first.low = min(first.low, offset)
        self.high = max(self.high, offset)
        bucket, high = [pair for pair in self._spans() if pair[0].low <= offset][-1]
        bucket.add(offset, x)
        bucket.centre = min(max(bucket.centre, bucket.low), high)

    def _spans(self):
        """Return every bucket with its right end."""
        ends = [bucket.low for bucket in self.buckets[1:]] + [self.high]
        return list(zip(self.buckets, ends, strict=True))

    def _rearrange(self):
        wide = [
            (bucket, high)
            for bucket, high in self._spans()
            if bucket.cut(high) is not None and bucket.squares > 0
        ]
        if not wide:
            return
        split, high = max(wide, key=lambda pair: pair[0].squares)
        if len(self.buckets) == self.most and not self._merge(split):
            return
        place = [bucket is split for bucket in self.buckets].index(True)
        self.buckets[place : place + 1] = split.halves(high)

    def _merge(self, spared):
        """Merge the neighbours most alike, if they are more alike than what `spared` holds."""
        pairs = [
            (a.merged(b), i)
            for i, (a, b) in enumerate(zip(self.buckets, self.buckets[1:], strict=False))
            if spared is not a and spared is not b
        ]
        merged, place = min(pairs, key=lambda p: p[0].squares, default=(None, None))
        if merged is None or merged.squares >= spared.squares:
            return False
        self.buckets[place : place + 2] = [merged]
        return True


class Errors:
    """Mean and variance of forecast errors, the latest weighing most."""

    def __init__(self):
        self.mean = self.variance = 0.0

    def see(self, error, weight):
        self.mean += weight * (error - self.mean)
        self.variance += weight * ((error - self.mean) * (error - self.mean) - self.variance)


class Position:
    """Where a stream is: at its last value (a walk), or on the line through its values."""

    def __init__(self, form, smoothing=0.05):
        if form not in ("trend", "walk", "auto"):
            raise ValueError(f"form must be 'trend', 'walk' or 'auto', got {form!r}")
        self.auto = form == "auto"
        self.form = "trend" if self.auto else form
        self.smoothing = smoothing
        self.seen = 0
        self.level = self.slope = self.last = 0.0
        self.errors = {"trend": Errors(), "walk": Errors()}

    @property
    def value(self):
        return self.last if self.form == "walk" else self.level

    def see(self, key):
        """Take a value; tell whether the form has changed."""
        v = float(key)
        self.seen += 1
        if self.seen == 1:
            self.level = self.last = v
            return False
        foreseen = {"trend": self.level + self.slope, "walk": self.last}
        if self.seen > 16:
            weight = max(1 / (self.seen - 16), 0.01)
            for form, errors in self.errors.items():
                errors.see(v - foreseen[form], weight)
        n = float(self.seen)
        error = v - foreseen["trend"]
        to_level = max(self.smoothing, (4 * n - 2) / (n * (n + 1)))
        to_slope = max(0.375 * self.smoothing * self.smoothing, 6 / (n * (n + 1)))
        self.level = foreseen["trend"] + to_level * error
        self.slope += to_slope * error
        self.last = v
        return self.auto and self.seen >= 64 and self._reconsider()

    def _reconsider(self):
        other = "trend" if self.form == "walk" else "walk"
        if self.errors[other].variance < 0.8 * self.errors[self.form].variance:
            self.form = other
            return True
        return False

    def offset(self, key):
        return float(key) - self.value


@dataclass
class Watched:
    """A tuple that is watched, and the present observation of it."""

    key: int
    since: int  # the time of its arrival
    offset: float  # where the observation began
    worth: float = 0.0  # matches in it, each times the chance of being held still
    weight: float = 1.0  # that chance, by now
    steps: int = 0  # arrivals of the other stream in it
    age: int = 0  # and in all
