"""Everything that is kept of a long stream: samples, in memory that does not grow.

- a sample of the keys, with the long distances of all their rows (`key_sample.py`);
- stretches of consecutive rows, for short distances and the locality model;
- the number of rows by time (`bursts.Arrivals`);
- the popular keys, by lossy counting, unless all keys are counted elsewhere.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from ..errors import BadState
from ..numeric import Ints
from .bursts import Arrivals
from .chunks import Arrays, Plan, Survey, pack, popular_in, unpack, with_prefix, without_prefix
from .key_sample import KeySample, threshold_for
from .lossy import LossyCounter

FORMAT = 1
MOST = 32  # stretches
SHORTEST = 64  # rows of a full stretch
INCOMPLETE = 4  # stretches below 1 / INCOMPLETE of the full length are not used
NEAR = 4  # a distance is short up to 1 / NEAR of a stretch
EPSILON = 1e-4  # largest error of the share of popular keys
BINS = 1 << 16  # of time


@dataclass
class Stretch:
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
    held: list[Stretch] = field(default_factory=list)

    def make_room(self, seen: int) -> None:
        """Double the stride until a stream of this length has no more than `MOST` stretches."""
        while -(-seen // self.stride) > MOST:
            self.stride *= 2
        kept: dict[int, Stretch] = {}  # the first stretch of each part of `stride` rows
        for each in self.held:
            kept.setdefault(each.start // self.stride, each)
        self.held = list(kept.values())

    def push(self, start: int, key: Ints) -> None:
        """Add rows from a position on: they extend the last stretch, or start the next one."""
        while len(key):
            last = self.held[-1] if self.held else None
            room = self.length - len(last.key) if last is not None and last.end == start else 0
            if last is None or room <= 0:
                last, room = Stretch(start, key[:0]), self.length
                self.held.append(last)
            last.key = np.append(last.key, key[:room])
            start, key = start + len(key[:room]), key[room:]

    def covers(self, seen: int) -> bool:
        """Tell whether the stretches hold the whole of a stream of this length."""
        starts = [each.start for each in self.held] + [seen]
        return starts == [0] + [each.end for each in self.held]

    def useful(self) -> list[Stretch]:
        """Return the stretches that are long enough for estimates."""
        return [each for each in self.held if len(each.key) * INCOMPLETE >= self.length]


class Sketch:
    """The samples of a stream so far.

    rows: the number of rows in all stretches; a stream that is no longer is held as a whole.
    keys: the largest number of keys in the sample.
    counting: whether popular keys are counted.
    """

    def __init__(
        self, rows: int, keys: int, seed: int = 0, bins: int = BINS, counting: bool = True
    ) -> None:
        length = max(rows // MOST, SHORTEST)
        self.keys = KeySample(seed, keys)
        self.stretches = SampledStretches(length, length)
        self.arrivals = Arrivals(bins)
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
        made.arrivals = Arrivals(**_plain(without_prefix("clock_", saved)))
        starts = saved["run"].reshape(-1, 2)[:, 0].tolist()
        held = [Stretch(start, key) for start, key in zip(starts, _pieces(saved))]
        made.stretches = SampledStretches(length, stride, held)
        made.popular = popular_in(saved) if "popular_key" in saved else None
        made.seen, made.skipped = seen, skipped
        return made


def _pieces(found: Arrays) -> list[Ints]:
    """Return the keys of each stretch."""
    lengths = np.diff(found["run"].reshape(-1, 2), axis=1).ravel()
    return np.split(found["run_key"], np.cumsum(lengths))[:-1]


def _fields_of(record: KeySample | Arrivals) -> Arrays:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _plain(arrays: Arrays) -> dict:
    """Return single numbers as Python's own."""
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}
