"""Everything that is kept of a long stream: samples, in memory that does not grow.

- a sample of the keys, with the long distances of all their rows (`KeySample`);
- stretches of consecutive rows, for short distances and the locality model;
- the number of rows by time (`bursts.BinnedTimes`);
- the popular keys, by lossy counting, unless all keys are counted elsewhere.

**A sample of the keys** contains all rows of a key, or none. A key is sampled if its hash lies
below a threshold. Among the sampled rows a stack distance is on average `rate` times that in the
stream, because that share of the keys in between is sampled too. So 1 + (s - 1) / rate is an
unbiased estimate from the distance s in the sample. Memory is needed for the sampled keys only. If
there are too many of them, the threshold is lowered; the keys that remain were sampled from the
start, so their counts are complete.

Hashes also divide the keys into `GROUPS` groups. Each group is a sample of its own, and the
differences between the groups show how large the error of the sample is.

The positions of rows are those in the stream, so inter-arrival distances, unlike stack distances,
are exact. Both are counted in bins that are narrow where distances are short: up to 128 every
distance has its own bin; above, each doubling has 64 bins, so that a bin is at most 1.6 % wide.

Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS" (FAST
2015). Departures: the key itself is not scaled up; `sampled_profile.py` corrects for the chance
selection of popular keys.

**Chunks.** A sketch takes a few arrays from a chunk of a stream instead of all rows. A survey says
how many rows there are and when. The sketch answers with a plan, which says what to take. Chunks of
rows in the order of time are read by the plan on any machine, and the sketch adds the result.
"""

import io
import math
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadState
from ..kernel.rng import STEP, mix
from ..numeric import Floats, Ints
from .bursts import BinnedTimes, Times, bins_of
from .distances import stack_distances
from .lossy import LossyCounter
from .ranked import no_numbers, previous

GROUPS = 16
ALL = 2**64 - 1  # the threshold that samples every key
BITS = 6  # each doubling of the distance has 2 ** BITS bins
LONGEST = (1 << 48) - 1  # distance; longer ones are counted with it


def bin_of(distance: ArrayLike) -> Ints:
    """Return the bin of each distance.

    >>> bin_of([0, 1, 127, 128, 129, 130]).tolist()
    [0, 1, 127, 128, 128, 129]
    """
    whole = np.minimum(np.asarray(distance), LONGEST).astype(np.int64)
    shift = np.maximum(np.frexp(whole.astype(np.float64))[1].astype(np.int64) - BITS - 1, 0)
    return (shift << BITS) + (whole >> shift)


def _last_of_each_bin() -> Ints:
    number = np.arange(BINS)
    shift = np.maximum((number >> BITS) - 1, 0)
    return ((number - (shift << BITS) + 1) << shift) - 1


BINS = int(bin_of(LONGEST)) + 1
LAST = _last_of_each_bin()  # int64[BINS]: the longest distance of each bin


def binned(distance: Ints) -> Floats:
    """Return the number of distances in each bin."""
    return np.bincount(bin_of(distance), minlength=BINS).astype(np.float64)


def hashes(keys: Ints, seed: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each key, which depend only on the key and the seed."""
    shift = np.uint64((seed + 1) * int(STEP) % 2**64)
    return mix(keys.astype(np.int64).view(np.uint64) + shift)


def threshold_for(rate: float) -> int:
    """Return the threshold that samples this share of all keys."""
    return min(ALL, int(rate * 2.0**64))


@dataclass(eq=False)
class KeySample:
    """The sampled keys, and the distances of their rows in bins."""

    seed: int
    most: int  # keys held
    threshold: int = ALL
    key: Ints = field(default_factory=no_numbers)  # from the least to the most recently seen
    last: Ints = field(default_factory=no_numbers)  # the position of its latest row
    count: Ints = field(default_factory=no_numbers)  # its number of rows
    depth: Floats = field(default_factory=lambda: np.zeros((1 + GROUPS, BINS)))  # all, each group
    gap: Floats = field(default_factory=lambda: np.zeros((GROUPS, BINS)))

    @property
    def rate(self) -> float:
        """The share of all keys that is sampled."""
        return (self.threshold + 1) / 2.0**64

    def push(self, key: Ints, place: Ints, folded: Ints) -> None:
        """Add sampled rows in the order of the stream.

        folded: the number of rows of the same key that were omitted just before each; see `fold`.
        """
        self._make_room(key)
        kept = hashes(key, self.seed) <= np.uint64(self.threshold)
        key, place, folded = key[kept], place[kept], folded[kept]
        held = len(self.key)
        keys, places = np.append(self.key, key), np.append(self.last, place)
        before = previous(keys)
        again = np.flatnonzero(before >= 0)  # never one of the keys held
        group = self.group(keys)
        self._add_depths(keys, before, again, group)
        far = again[folded[again - held] == 0]  # folded rows have short distances
        gaps = places[far] - places[before[far]]
        for number in range(GROUPS):
            self.gap[number] += binned(gaps[group[far] == number]) / self.rate
        self._remember(keys, places, np.append(self.count, 1 + folded))

    def _make_room(self, key: Ints) -> None:
        """Lower the threshold until at most `most` keys are held."""
        word = np.unique(hashes(np.append(self.key, key), self.seed))
        word = word[word <= np.uint64(self.threshold)]
        if len(word) > self.most:
            self.lower(int(word[self.most]) - 1)

    def lower(self, threshold: int) -> None:
        """Lower the threshold to this value, if it is higher."""
        self.threshold = min(self.threshold, threshold)
        kept = hashes(self.key, self.seed) <= np.uint64(self.threshold)
        self.key, self.last, self.count = self.key[kept], self.last[kept], self.count[kept]

    def group(self, keys: Ints) -> Ints:
        """Return the group of each key, from the low bits: the high ones decide the sampling."""
        return (hashes(keys, self.seed) % np.uint64(GROUPS)).astype(np.int64)

    def _add_depths(self, keys: Ints, before: Ints, again: Ints, group: Ints) -> None:
        # The keys held, in the order of their latest rows, stand for all earlier rows.
        depths = [(stack_distances(keys, before)[again], self.rate)]
        for number in range(GROUPS):
            depth = stack_distances(keys[group == number])
            depths.append((depth[depth > 0], self.rate / GROUPS))
        for number, (depth, rate) in enumerate(depths):
            scaled = np.rint(1 + (depth - 1) / rate).astype(np.int64)
            self.depth[number] += binned(scaled) / self.rate

    def _remember(self, keys: Ints, places: Ints, counts: Ints) -> None:
        value, first, number = np.unique(keys[::-1], return_index=True, return_inverse=True)
        total = np.bincount(number, counts[::-1]).astype(np.int64)
        last = len(keys) - 1 - first
        order = np.argsort(last)
        self.key, self.last, self.count = value[order], places[last[order]], total[order]


def fold(key: Ints, place: Ints, near: int) -> tuple[NDArray[np.bool_], Ints]:
    """Omit rows that only repeat their neighbours in the sample; return which are kept.

    Where a key occurs three times or more without another sampled key in between, at most `near`
    positions from one row to the next, the first and the last of these rows determine all stack
    distances. So a single very popular key cannot fill a sample. The second array is the number of
    rows that were omitted before each row that is kept.

    >>> kept, folded = fold(np.array([7, 7, 7, 7, 8, 7]), np.arange(6), near=9)
    >>> kept.tolist(), folded.tolist()
    ([True, False, False, True, True, True], [0, 2, 0, 0])
    """
    same = (np.diff(key) == 0) & (np.diff(place) <= near)
    repeats = np.zeros(len(key) + 1, bool)  # whether each row repeats the one before it
    repeats[1:-1] = same
    kept = ~(repeats[:-1] & repeats[1:])
    return kept, np.diff(np.flatnonzero(kept), prepend=-1) - 1


Arrays = dict[str, np.ndarray]


class Survey(NamedTuple):
    """The number of rows, and the range of their times."""

    rows: int = 0  # with a key and a time
    skipped: int = 0  # without one of them
    earliest: float | int = 0
    latest: float | int = 0
    tick: float | int = 0  # times are the earliest plus whole multiples of this; 0: unknown

    def plus(self, other: "Survey") -> "Survey":
        """Return the survey of both.

        >>> Survey(2, 0, 0, 6, 6).plus(Survey(3, 1, 4, 12, 8))
        Survey(rows=5, skipped=1, earliest=0, latest=12, tick=2)
        """
        skipped = self.skipped + other.skipped
        if not (self.rows and other.rows):
            return (self if self.rows else other)._replace(skipped=skipped)
        whole = isinstance(self.earliest, int)
        apart = int(abs(self.earliest - other.earliest)) if whole else 0
        return Survey(
            self.rows + other.rows,
            skipped,
            min(self.earliest, other.earliest),
            max(self.latest, other.latest),
            math.gcd(int(self.tick), int(other.tick), apart) if whole else 0,
        )


def survey(times: Times, skipped: int) -> Survey:
    """Return the survey of rows with these times, in any order."""
    if not len(times):
        return Survey(skipped=skipped)
    first, last = times.min(), times.max()
    if times.dtype.kind == "f":
        return Survey(len(times), skipped, float(first), float(last))
    tick = int(np.gcd.reduce(times - first))
    return Survey(len(times), skipped, int(first), int(last), tick)


class Plan(NamedTuple):
    """What to take from a chunk, as plain values that can be sent to another machine."""

    seed: int
    threshold: int  # keys with at most this hash are sampled
    near: int  # see `fold`
    length: int  # of a stretch
    stride: int  # from the start of one stretch to the next
    origin: float | int  # of the bins of time
    width: float | int
    epsilon: float  # of the counts of popular keys; 0: they are not counted


def take(plan: Plan, key: Ints, time: Times, first: int) -> Arrays:
    """Return what the plan asks for; `first` is the position of the first row in the stream.

    >>> plan = Plan(0, 2**64 - 1, near=9, length=2, stride=4, origin=0, width=10, epsilon=0)
    >>> found = take(plan, np.array([7, 8, 7, 9, 7]), np.array([0, 5, 11, 12, 40]), first=0)
    >>> {name: array.tolist() for name, array in found.items()}
    {'rows': [5], 'key': [7, 8, 7, 9, 7], 'place': [0, 1, 2, 3, 4], 'folded': [0, 0, 0, 0, 0],
     'run': [[0, 2], [4, 5]], 'run_key': [7, 8, 7], 'bin': [0, 1, 4], 'bin_count': [2, 2, 1]}
    """
    sampled = np.flatnonzero(hashes(key, plan.seed) <= np.uint64(plan.threshold))
    kept, folded = fold(key[sampled], sampled, plan.near)
    sampled = sampled[kept]
    pieces = stretch_bounds(first, len(key), plan.stride, plan.length)
    places, counts = bins_of(time, plan.origin, plan.width)
    found = {
        "rows": np.array([len(key)]),
        "key": key[sampled],
        "place": sampled,
        "folded": folded,
        "run": np.array(pieces, np.int64).reshape(-1, 2),
        "run_key": np.concatenate([key[:0], *(key[start:end] for start, end in pieces)]),
        "bin": places,
        "bin_count": counts,
    }
    if plan.epsilon:
        counter = LossyCounter(plan.epsilon)
        counter.push(key)
        found |= with_prefix("popular_", counter.save())
    return found


def stretch_bounds(first: int, rows: int, stride: int, length: int) -> list[tuple[int, int]]:
    """Return the bounds of the rows that belong to stretches, if row 0 has the position `first`.

    >>> stretch_bounds(first=8, rows=20, stride=10, length=3)
    [(2, 5), (12, 15)]
    """
    starts = range(first // stride * stride - first, rows, stride)
    pieces = [(max(start, 0), min(start + length, rows)) for start in starts]
    return [(start, end) for start, end in pieces if start < end]


def with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the same arrays by longer names."""
    return {prefix + name: array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names have the prefix, by their short names."""
    mine = (name for name in arrays if name.startswith(prefix))
    return {name.removeprefix(prefix): arrays[name] for name in mine}


def popular_in(found: Arrays) -> LossyCounter:
    """Return the counter of the popular keys of a chunk."""
    return LossyCounter.restore(without_prefix("popular_", found))


def pack(arrays: Arrays) -> bytes:
    """Return arrays as bytes."""
    target = io.BytesIO()
    np.savez(target, allow_pickle=False, **arrays)
    return target.getvalue()


def unpack(data: Any) -> Arrays:
    """Return the arrays that were given to `pack`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}


FORMAT = 1
MOST = 32  # stretches
SHORTEST = 64  # rows of a full stretch
INCOMPLETE = 4  # stretches below 1 / INCOMPLETE of the full length are not used
NEAR = 4  # a distance is short up to 1 / NEAR of a stretch
EPSILON = 1e-4  # largest error of the share of popular keys
TIME_BINS = 1 << 16


@dataclass
class KeyStretch:
    """Consecutive keys from a position in the stream on."""

    start: int
    key: Ints

    @property
    def end(self) -> int:
        """The position after its last row."""
        return self.start + len(self.key)


@dataclass
class SampledStretches:
    """Stretches that are evenly spread over the stream, from the first to the last.

    Every `stride` rows a stretch of `length` rows starts. If there are more than `MOST`, the stride
    is doubled and every second stretch is removed. So a short stream is held as a whole, and of a
    long one there are always between `MOST / 2` and `MOST` stretches.
    """

    length: int
    stride: int
    held: list[KeyStretch] = field(default_factory=list)

    def make_room(self, seen: int) -> None:
        """Double the stride until a stream of this length has no more than `MOST` stretches."""
        while -(-seen // self.stride) > MOST:
            self.stride *= 2
        kept: dict[int, KeyStretch] = {}  # the first stretch of each part of `stride` rows
        for each in self.held:
            kept.setdefault(each.start // self.stride, each)
        self.held = list(kept.values())

    def push(self, start: int, key: Ints) -> None:
        """Add rows from a position on: they extend the last stretch, or start the next one."""
        while len(key):
            last = self.held[-1] if self.held else None
            room = self.length - len(last.key) if last is not None and last.end == start else 0
            if last is None or room <= 0:
                last, room = KeyStretch(start, key[:0]), self.length
                self.held.append(last)
            last.key = np.append(last.key, key[:room])
            start, key = start + len(key[:room]), key[room:]

    def covers(self, seen: int) -> bool:
        """Tell whether the stretches hold the whole of a stream of this length."""
        starts = [each.start for each in self.held] + [seen]
        return starts == [0] + [each.end for each in self.held]

    def useful(self) -> list[KeyStretch]:
        """Return the stretches that are long enough for estimates."""
        return [each for each in self.held if len(each.key) * INCOMPLETE >= self.length]


class Sketch:
    """The samples of a stream so far.

    rows: the number of rows in all stretches; a stream that is no longer is held as a whole.
    keys: the largest number of keys in the sample.
    counting: whether popular keys are counted.
    """

    def __init__(
        self, rows: int, keys: int, seed: int = 0, bins: int = TIME_BINS, counting: bool = True
    ) -> None:
        length = max(rows // MOST, SHORTEST)
        self.keys = KeySample(seed, keys)
        self.stretches = SampledStretches(length, length)
        self.arrivals = BinnedTimes(bins)
        self.popular = LossyCounter(EPSILON) if counting else None
        self.seen = 0
        self.skipped = 0

    def expect(self, ahead: Survey) -> None:
        """Choose stretches and bins for a stream that consists of exactly these rows."""
        self.stretches.stride = max(self.stretches.length, -(-ahead.rows // MOST))
        self.arrivals.start(ahead.earliest, ahead.latest, ahead.tick, ahead.rows)

    def plan(self, ahead: Survey, most: int) -> Plan:
        """Make room for the rows ahead, and return what to take: about `most` sampled rows."""
        self.skipped += ahead.skipped
        self.keys.lower(threshold_for(most / max(ahead.rows, 1)))
        self.stretches.make_room(self.seen + ahead.rows)
        self.arrivals.make_room(ahead.earliest, ahead.latest, ahead.tick)
        return Plan(
            self.keys.seed,
            self.keys.threshold,
            self.near,
            self.stretches.length,
            self.stretches.stride,
            self.arrivals.origin,
            self.arrivals.width,
            EPSILON if self.popular is not None else 0.0,
        )

    @property
    def near(self) -> int:
        """The longest distance that is estimated from the stretches."""
        return self.stretches.length // NEAR

    def push(self, chunks: list[Arrays]) -> None:
        """Add what `take` found in consecutive chunks."""
        first = self.seen + np.cumsum([0] + [int(found["rows"][0]) for found in chunks])
        for start, found in zip(first, chunks):
            for (begin, _), key in zip(found["run"], _pieces(found)):
                self.stretches.push(int(start + begin), key)
            if self.popular is not None:
                self.popular.merge(popular_in(found))
        self.keys.push(
            np.concatenate([found["key"] for found in chunks]),
            np.concatenate([start + found["place"] for start, found in zip(first, chunks)]),
            np.concatenate([found["folded"] for found in chunks]),
        )
        self.arrivals.push(
            np.concatenate([found["bin"] for found in chunks]),
            np.concatenate([found["bin_count"] for found in chunks]),
        )
        self.seen = int(first[-1])
        self.stretches.make_room(self.seen)

    def save(self) -> bytes:
        """Return the whole sketch as bytes."""
        held, (length, stride) = self.stretches.held, (self.stretches.length, self.stretches.stride)
        arrays = with_prefix("keys_", _fields_of(self.keys))
        arrays |= with_prefix("clock_", _fields_of(self.arrivals))
        arrays["keys_threshold"] = np.array(self.keys.threshold, np.uint64)
        arrays["totals"] = np.array([FORMAT, self.seen, self.skipped, length, stride], np.int64)
        arrays["run"] = np.array([(each.start, each.end) for each in held], np.int64)
        arrays["run_key"] = np.concatenate([self.keys.key[:0], *(each.key for each in held)])
        if self.popular is not None:
            arrays |= with_prefix("popular_", self.popular.save())
        return pack({name: np.asarray(value) for name, value in arrays.items()})

    @classmethod
    def restore(cls, data: bytes) -> "Sketch":
        """Return the sketch that `save` was called on."""
        saved = unpack(data)
        found, seen, skipped, length, stride = saved["totals"].tolist()
        if found != FORMAT:
            raise BadState(
                f"a saved profile must be of format {FORMAT}, got {found};"
                " choose another checkpoint folder"
            )
        made = cls(0, 0)
        made.keys = KeySample(**_plain(without_prefix("keys_", saved)))
        made.arrivals = BinnedTimes(**_plain(without_prefix("clock_", saved)))
        starts = saved["run"].reshape(-1, 2)[:, 0].tolist()
        held = [KeyStretch(start, key) for start, key in zip(starts, _pieces(saved))]
        made.stretches = SampledStretches(length, stride, held)
        made.popular = popular_in(saved) if "popular_key" in saved else None
        made.seen, made.skipped = seen, skipped
        return made


def _pieces(found: Arrays) -> list[Ints]:
    """Return the keys of each stretch."""
    lengths = np.diff(found["run"].reshape(-1, 2), axis=1).ravel()
    return np.split(found["run_key"], np.cumsum(lengths))[:-1]


def _fields_of(record: KeySample | BinnedTimes) -> Arrays:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _plain(arrays: Arrays) -> dict:
    """Return single numbers as Python's own."""
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}
