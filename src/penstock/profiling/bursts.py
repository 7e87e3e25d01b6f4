"""How unevenly tuples arrive: counts in windows of equal length, at several lengths.

The index of dispersion is the variance of the counts over their mean: 1 for a Poisson process, 0
for a clock, and growing with the window where bursts last. The peak to mean ratio is what a memory
sized by the mean rate must withstand.

A window holds about 10, 100, ... tuples in the mean, is a whole number of ticks of the clock (else
rounded times alone would look like bursts), and there are at least `LEAST` windows. What is
left over after the last whole window is not counted.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadInput

SIZES = (10, 100, 1_000, 10_000, 100_000)  # tuples in a window, in the mean
LEAST = 20  # windows
MOST = 10_000_000  # windows

Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """What windows of one length show."""

    window: float  # in the unit of the times
    windows: int
    mean: float  # tuples in a window
    dispersion: float  # variance of the counts over their mean
    peak: float  # the fullest window over the mean


@dataclass(frozen=True)
class Bursts:
    """Arrival rates."""

    span: float  # from the first time to the last
    rate: float  # tuples in a unit of time
    scales: tuple[Scale, ...]  # from the shortest window up; none: the stream is too short


def bursts(times: ArrayLike) -> Bursts:
    """Return how unevenly tuples arrive; times must be in order.

    >>> clock = bursts(np.arange(0, 30_000, 3))
    >>> [(scale.window, scale.dispersion, scale.peak) for scale in clock.scales]
    [(30.0, 0.0, 1.0), (300.0, 0.0, 1.0)]
    """
    since, tick = _since_start(np.asarray(times))
    # The last tuple closes the span and the first opens it: one more gap than there are would do.
    span = float(since[-1]) * len(since) / (len(since) - 1)
    rate = len(since) / span
    windows = {_length(size / rate, tick): size for size in SIZES}
    scales = [_scale(since, span, window) for window in sorted(windows)]
    return Bursts(float(since[-1]), rate, tuple(each for each in scales if each is not None))


def _since_start(times: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the times from the first on, and the tick of their clock; 0: they are not whole."""
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
    since = times.astype(np.uint64) - times[:1].astype(np.uint64)  # wraps round to what is right
    return since, float(np.gcd.reduce(since))


def _length(wanted: float, tick: float) -> float:
    return max(1.0, round(wanted / tick)) * tick if tick else wanted


def _scale(since: np.ndarray, span: float, window: float) -> Scale | None:
    windows = int(span / window * (1 + 1e-12))
    if not LEAST <= windows <= MOST:
        return None
    place = (since // since.dtype.type(window)).astype(np.int64)
    count = np.bincount(place[place < windows], minlength=windows)
    mean = float(count.mean())
    return Scale(window, windows, mean, float(count.var() / mean), float(count.max() / mean))
