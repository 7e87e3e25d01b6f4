"""Runs of tuples that follow each other, evenly spread over the stream.

Every `stride` tuples a run of `length` starts. Where there are more runs than `MOST` the stride is
doubled and every second run is forgotten. So a short stream is held as a whole, one run after the
other, and of a long one there are always between `MOST / 2` and `MOST`.
"""

from dataclasses import dataclass, field

import numpy as np

from ..numeric import Ints

MOST = 32  # runs
SHORT = 4  # runs below length / SHORT tell too little of what came before


@dataclass
class Run:
    """Keys from a place in the stream on."""

    start: int
    key: Ints

    @property
    def end(self) -> int:
        """The place after its last tuple."""
        return self.start + len(self.key)


@dataclass
class Runs:
    """The runs that are held, from the first to the last."""

    length: int
    stride: int
    held: list[Run] = field(default_factory=list)

    def make_room(self, seen: int) -> None:
        """Double the stride until a stream so long has no more runs than may be held."""
        while -(-seen // self.stride) > MOST:
            self.stride *= 2
        kept: dict[int, Run] = {}  # the first run in each part of the stream of a stride's length
        for run in self.held:
            kept.setdefault(run.start // self.stride, run)
        self.held = list(kept.values())

    def push(self, start: int, key: Ints) -> None:
        """Take in tuples from a place on: they lengthen the last run, or are the next one."""
        while len(key):
            last = self.held[-1] if self.held else None
            room = self.length - len(last.key) if last is not None and last.end == start else 0
            if last is None or room <= 0:
                last, room = Run(start, key[:0]), self.length
                self.held.append(last)
            last.key = np.append(last.key, key[:room])
            start, key = start + len(key[:room]), key[room:]

    def covers(self, seen: int) -> bool:
        """Tell whether the runs hold the whole of a stream of that many tuples."""
        place = 0
        for run in self.held:
            if run.start != place:
                return False
            place = run.end
        return place == seen

    def useful(self) -> list[Run]:
        """Return the runs that are long enough to tell something."""
        return [run for run in self.held if len(run.key) * SHORT >= self.length]


def wanted(first: int, rows: int, stride: int, length: int) -> list[tuple[int, int]]:
    """Return from where to where rows belong to runs, if the first has the place `first`.

    >>> wanted(first=8, rows=20, stride=10, length=3)
    [(2, 5), (12, 15)]
    """
    starts = range(first // stride * stride - first, rows, stride)
    pieces = [(max(start, 0), min(start + length, rows)) for start in starts]
    return [(start, end) for start, end in pieces if start < end]
