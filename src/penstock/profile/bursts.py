"""How unevenly rows arrive: counts in windows of equal length, at several lengths.

The index of dispersion is the variance of the counts divided by their mean: 1 for a Poisson
process, 0 for equal counts, and increasing with the window where bursts last. The ratio of peak to
mean is the load that a memory sized by the mean rate must withstand.

A window holds about 10, 100, ... rows on average, is a whole number of ticks of the clock (rounded
times would otherwise look like bursts), and there are at least `LEAST` windows. Rows after the last
whole window are not counted.

The course is the rate over time: rows per unit of time in up to `PARTS` windows of equal length.
Where times are timestamps the unit is the second.

`bursts` computes this from all times. `BinnedTimes` counts times in bins of bounded number, for a
stream of which only samples are kept; its windows are multiples of a bin.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Floats, Ints
from .ranked import no_numbers

SIZES = (10, 100, 1_000, 10_000, 100_000)  # rows in a window, on average
LEAST, MOST = 20, 10_000_000  # windows
PARTS = 200  # of the course

Times = Ints | Floats


class Scale(NamedTuple):
    """The counts in windows of one length."""

    window: float  # in the unit of time
    windows: int
    mean: float  # rows in a window
    dispersion: float  # variance of the counts divided by their mean
    peak: float  # the largest count divided by the mean


class Bursts(NamedTuple):
    """Arrival rates."""

    span: float  # from the first time to the last
    rate: float  # rows per unit of time
    scales: tuple[Scale, ...]  # from the shortest window up; empty if the stream is too short
    step: float  # of the course
    course: tuple[float, ...]  # rows per unit of time, step by step
    seconds: bool = False  # whether the unit of time is the second; else that of the times

    def in_seconds(self, per_second: float) -> "Bursts":
        """Return the same, with so many of its units of time in a second."""
        return Bursts(
            self.span / per_second,
            self.rate * per_second,
            tuple(each._replace(window=each.window / per_second) for each in self.scales),
            self.step / per_second,
            tuple(each * per_second for each in self.course),
            seconds=True,
        )


def bursts(times: ArrayLike) -> Bursts:
    """Return how unevenly rows arrive; times must be in order.

    >>> regular = bursts(np.arange(0, 30_000, 3))
    >>> [(scale.window, scale.dispersion, scale.peak) for scale in regular.scales]
    [(30.0, 0.0, 1.0), (300.0, 0.0, 1.0)]
    """
    times = np.asarray(times)
    since, tick = _since_start(times)

    def counted(window: float) -> tuple[Ints, Ints]:
        return np.unique((since // since.dtype.type(window)).astype(np.int64), return_counts=True)

    found = _at_all_scales(float(since[-1]), len(since), tick, counted)
    if times.dtype.kind not in "mM":
        return found
    second, unit = (np.ones(1, f"m8[{each}]") for each in ("s", np.datetime_data(times.dtype)[0]))
    return found.in_seconds(float((second / unit)[0]))


def _at_all_scales(
    span: float, rows: int, tick: float, counted: Callable[[float], tuple[Ints, Ints]]
) -> Bursts:
    """Return the arrival rates of so many rows, in windows that are whole numbers of ticks.

    `counted(window)` returns the windows of this length that have rows, and how many each has.
    """
    span_closed = span * rows / (rows - 1)  # one more mean gap: n rows have n - 1 between them
    rate = rows / span_closed
    scales = []
    for window in sorted({_window(size / rate, tick) for size in SIZES}):
        windows = _windows_in(span_closed, window)
        if LEAST <= windows <= MOST:
            place, count = counted(window)
            scales.append(_scale(window, windows, count[place < windows]))
    step = _window(span_closed / PARTS, tick)
    windows = max(1, _windows_in(span_closed, step))  # the last may be cut short by the end
    course = np.bincount(*counted(step), minlength=windows)[:windows] / step
    return Bursts(span, rate, tuple(scales), float(step), tuple(course.tolist()))


def _window(wanted: float, tick: float) -> float:
    return max(1, round(wanted / tick)) * tick if tick else wanted


def _windows_in(span: float, window: float) -> int:
    return int(span / window * (1 + 1e-12))


def _scale(window: float, windows: int, count: Ints) -> Scale:
    """Return the scale of windows with these counts; windows that are not given are empty."""
    mean = count.sum() / windows
    squares = ((count - mean) ** 2).sum() + (windows - len(count)) * mean**2
    variance = squares / windows
    return Scale(
        float(window), windows, float(mean), float(variance / mean), float(count.max() / mean)
    )


def _since_start(times: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the times relative to the first, and the tick of their clock; 0: none is known."""
    if times.dtype.kind in "mM":
        times = times.astype(np.int64)
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise BadInput(f"times must be one column of numbers or timestamps, got {times.dtype}")
    if len(times) < 2 or not times[-1] > times[0]:
        raise BadInput(
            f"times must span some time to show a rate, got {len(times)} that are all the same"
        )
    back = ~(times[1:] >= times[:-1])  # catches NaN too
    if back.any():
        row = int(np.argmax(back)) + 1
        raise BadInput(
            f"times must not go back, got {times[row]} after {times[row - 1]} at row {row + 1};"
            " sort the stream by time"
        )
    if times.dtype.kind == "f":
        return times - times[0], 0.0
    since = times.astype(np.uint64) - times[:1].astype(np.uint64)  # wraps around to the right value
    return since, float(np.gcd.reduce(since))


@dataclass(eq=False)
class BinnedTimes:
    """Counts of times in bins of equal width; bins without rows are left out."""

    most: int  # bins
    origin: float | int = 0  # where bin 0 starts
    width: float | int = 0  # of a bin; 0: there was no row yet
    earliest: float | int = 0
    latest: float | int = 0
    bin: Ints = field(default_factory=no_numbers)  # ascending
    count: Ints = field(default_factory=no_numbers)

    def start(self, earliest: float, latest: float, tick: float, rows: int) -> None:
        """Choose bins for this many expected rows: a bin is the shortest window of `bursts`."""
        self.origin, self.earliest, self.latest = earliest, earliest, latest
        span = latest - earliest
        wanted = max(SIZES[0] * span / max(rows - 1, 1), span / self.most)
        self.width = _window(wanted, tick) or 1

    def make_room(self, earliest: float, latest: float, tick: float) -> None:
        """Double the width of the bins until times from the earliest to the latest fit.

        tick: all times are whole multiples of it after the earliest; 0: none is known.
        """
        if not self.width:
            self.origin, self.earliest, self.latest = earliest, earliest, latest
            self.width = tick or (latest - earliest) / self.most or 1
        self.earliest, self.latest = min(self.earliest, earliest), max(self.latest, latest)
        while (self.latest - self.earliest) / self.width > self.most:
            self.width *= 2
            self.bin, self.count = _merged(self.bin // 2, self.count)

    def push(self, place: Ints, count: Ints) -> None:
        """Add counts by bin, as `bins_of` returns them."""
        self.bin, self.count = _merged(np.append(self.bin, place), np.append(self.count, count))

    def bursts(self) -> Bursts | None:
        """Return the arrival rates at several scales; None: all rows have the same time."""
        seen, span = int(self.count.sum()), self.latest - self.earliest
        if seen < 2 or span <= 0:
            return None

        def counted(window: float) -> tuple[Ints, Ints]:
            bins = round(window / self.width)
            return _merged((self.bin - self.bin[0]) // bins, self.count)

        return _at_all_scales(float(span), seen, self.width, counted)


def bins_of(times: Times, origin: float, width: float) -> tuple[Ints, Ints]:
    """Return the bins that hold times, and the number of times in each."""
    place = ((times - origin) // width).astype(np.int64)
    return np.unique(place, return_counts=True)


def _merged(place: Ints, count: Ints) -> tuple[Ints, Ints]:
    value, number = np.unique(place, return_inverse=True)
    return value, np.bincount(number, count, minlength=len(value)).astype(np.int64)
