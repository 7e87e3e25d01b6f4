"""How many tuples came when: times counted in bins, which are widened where there are too many."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from ..profiling.bursts import LEAST, SIZES, Bursts, Scale

Floats = NDArray[np.float64]
Times = NDArray[np.int64] | NDArray[np.float64]


def _nothing() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class Clock:
    """Counts by bins of equal width, the empty ones left out."""

    most: int  # bins
    origin: float | int = 0  # where bin 0 starts
    width: float | int = 0  # of a bin; 0: nothing came yet
    earliest: float | int = 0
    latest: float | int = 0
    bin: Ints = field(default_factory=_nothing)  # rising
    count: Ints = field(default_factory=_nothing)

    def make_room(self, earliest: float, latest: float, tick: float) -> None:
        """Widen the bins, by doubling, until times from the earliest to the latest fit.

        tick: every time is a whole multiple of it from the earliest on; 0: none is known.
        """
        if not self.width:
            self.origin, self.earliest, self.latest = earliest, earliest, latest
            self.width = tick or (latest - earliest) / self.most or 1
        self.earliest, self.latest = min(self.earliest, earliest), max(self.latest, latest)
        while (self.latest - self.earliest) / self.width > self.most:
            self.width *= 2
            self.bin, self.count = _merged(self.bin // 2, self.count)

    def start(self, earliest: float, latest: float, tick: float, tuples: int) -> None:
        """Choose bins for so many tuples to come: one is the shortest window of `bursts`."""
        self.origin, self.earliest, self.latest = earliest, earliest, latest
        span = latest - earliest
        wanted = max(SIZES[0] * span / max(tuples - 1, 1), span / self.most)
        self.width = max(1, round(wanted / tick)) * tick if tick else wanted or 1

    def bins_of(self, times: Times) -> tuple[Ints, Ints]:
        """Return the bins of times, and how many are in each."""
        place = ((times - self.origin) // self.width).astype(np.int64)
        return np.unique(place, return_counts=True)

    def push(self, place: Ints, count: Ints) -> None:
        """Take in what `bins_of` returned."""
        self.bin, self.count = _merged(np.append(self.bin, place), np.append(self.count, count))

    def bursts(self) -> Bursts | None:
        """Return the arrival rates at several scales; None: the clock never moved."""
        seen, span = int(self.count.sum()), self.latest - self.earliest
        if seen < 2 or span <= 0:
            return None
        # As in `bursts`: the last tuple closes the span and the first opens it.
        whole = float(span) * seen / (seen - 1)
        windows = {max(1, round(size * whole / seen / self.width)) for size in SIZES}
        scales = [self._scale(whole, each) for each in sorted(windows)]
        return Bursts(float(span), seen / whole, tuple(each for each in scales if each))

    def _scale(self, span: float, bins: int) -> Scale | None:
        """Return what windows of so many bins show; what is left after the last is not counted."""
        window = bins * self.width
        windows = int(span / window * (1 + 1e-12))
        if windows < LEAST:
            return None
        place, count = _merged((self.bin - self.bin[0]) // bins, self.count)
        count = count[place < windows]
        mean = count.sum() / windows
        squares = ((count - mean) ** 2).sum() + (windows - len(count)) * mean**2
        return Scale(
            float(window), windows, float(mean), float(squares / windows / mean),
            float(count.max() / mean),
        )  # fmt: skip


def _merged(place: Ints, count: Ints) -> tuple[Ints, Ints]:
    value, number = np.unique(place, return_inverse=True)
    return value, np.bincount(number, count, minlength=len(value)).astype(np.int64)
