"""All that is kept of a stream: samples, in memory that does not grow.

- a sample of the keys, with the long distances of all their tuples (`keys.py`);
- runs of tuples that follow each other, for short distances and the locality model (`runs.py`);
- how many tuples came when (`clock.py`);
- the popular keys, by lossy counting, where not all keys are counted elsewhere.
"""

from dataclasses import fields

import numpy as np

from ..counting import LossyCounter
from ..errors import BadState
from .chunk import Arrays, Plan, Survey, pack, popular_in, unpack
from .clock import Clock
from .keys import KeySample, threshold_for
from .runs import MOST, Run, Runs

FORMAT = 1
SHORTEST = 64  # run
NEAR = 4  # a distance is short up to 1 / NEAR of a run
EPSILON = 1e-4  # share by which the counts of popular keys err at most
BINS = 1 << 16  # of time


class Sketch:
    """What is known of a stream so far.

    rows: how many tuples the runs may hold; a stream that is no longer is known as a whole.
    keys: how many keys the sample may hold.
    counting: whether popular keys are counted.
    """

    def __init__(
        self, rows: int, keys: int, seed: int = 0, bins: int = BINS, counting: bool = True
    ) -> None:
        length = max(rows // MOST, SHORTEST)
        self.keys = KeySample(seed, keys)
        self.runs = Runs(length, length)
        self.clock = Clock(bins)
        self.popular = LossyCounter(EPSILON) if counting else None
        self.seen = 0
        self.skipped = 0

    def expect(self, ahead: Survey) -> None:
        """Suit runs and bins to a stream of which nothing more than this will come."""
        self.runs.stride = max(self.runs.length, -(-ahead.rows // MOST))
        self.clock.start(ahead.earliest, ahead.latest, ahead.tick, ahead.rows)

    def plan(self, ahead: Survey, most: int) -> Plan:
        """Make room for what is ahead, and say what to take of it: about `most` sampled rows."""
        self.skipped += ahead.skipped
        self.keys.lower(threshold_for(most / max(ahead.rows, 1)))
        self.runs.make_room(self.seen + ahead.rows)
        self.clock.make_room(ahead.earliest, ahead.latest, ahead.tick)
        return Plan(
            self.keys.seed,
            self.keys.threshold,
            self.near,
            self.runs.length,
            self.runs.stride,
            self.clock.origin,
            self.clock.width,
            EPSILON if self.popular is not None else 0.0,
        )

    @property
    def near(self) -> int:
        """Up to which number of tuples a distance is short: the runs tell about it."""
        return self.runs.length // NEAR

    def push(self, chunks: list[Arrays]) -> None:
        """Take in what `take` found in chunks, one after the other."""
        first = self.seen + np.cumsum([0] + [int(found["rows"][0]) for found in chunks])
        for start, found in zip(first, chunks):
            at = 0
            for begin, end in found["run"]:
                self.runs.push(int(start + begin), found["run_key"][at : at + end - begin])
                at += end - begin
            if self.popular is not None:
                self.popular.merge(popular_in(found))
        self.keys.push(
            np.concatenate([found["key"] for found in chunks]),
            np.concatenate([start + found["place"] for start, found in zip(first, chunks)]),
            np.concatenate([found["folded"] for found in chunks]),
        )
        self.clock.push(
            np.concatenate([found["bin"] for found in chunks]),
            np.concatenate([found["bin_count"] for found in chunks]),
        )
        self.seen = int(first[-1])
        self.runs.make_room(self.seen)

    def save(self) -> bytes:
        """Return the whole of it."""
        arrays = {f"keys_{each.name}": getattr(self.keys, each.name) for each in fields(KeySample)}
        arrays |= {f"clock_{each.name}": getattr(self.clock, each.name) for each in fields(Clock)}
        arrays["keys_threshold"] = np.uint64(self.keys.threshold)
        arrays["totals"] = np.array(
            [FORMAT, self.seen, self.skipped, self.runs.length, self.runs.stride], np.int64
        )
        arrays["run"] = np.array([(run.start, run.end) for run in self.runs.held], np.int64)
        arrays["run_key"] = np.concatenate([self.keys.key[:0], *(r.key for r in self.runs.held)])
        if self.popular is not None:
            arrays |= {f"popular_{name}": array for name, array in self.popular.save().items()}
        return pack({name: np.asarray(value) for name, value in arrays.items()})

    @classmethod
    def restore(cls, data: bytes) -> "Sketch":
        """Return a sketch that goes on where `save` left off."""
        saved = unpack(data)
        found, seen, skipped, length, stride = saved["totals"].tolist()
        if found != FORMAT:
            raise BadState(
                f"a saved profile must be of format {FORMAT}, got {found}; take another checkpoint"
            )
        made = cls(0, 0)
        made.keys = KeySample(**_named(saved, "keys_"))
        made.clock = Clock(**_named(saved, "clock_"))
        made.runs = Runs(length, stride)
        at = 0
        for start, end in saved["run"].reshape(-1, 2).tolist():
            made.runs.held.append(Run(start, saved["run_key"][at : at + end - start]))
            at += end - start
        made.popular = popular_in(saved) if "popular_key" in saved else None
        made.seen, made.skipped = seen, skipped
        return made


def _named(saved: Arrays, prefix: str) -> dict:
    """Return the fields whose names start so; single numbers as Python's own."""
    mine = {name.removeprefix(prefix): a for name, a in saved.items() if name.startswith(prefix)}
    return {name: array if array.ndim else array.item() for name, array in mine.items()}
