"""Swinging-door compression: what historians do to a series before they keep it.

From the last point that was kept two doors open, one hinged `deviation` above it and one as far
below. Each new point swings a door open as far as it must so that the point lies between them.
Once the doors would be open wider than parallel, no line from the kept point passes all points
within the deviation: the point before is kept, and the doors start from there.

It answers "what was it?" with a line through the kept points. It has no bounded answer to "what is
it now?": since the last kept point the value may have gone anywhere along an open door, and the
point that closes it is sent when it is over. `live_misses` counts how often the last kept value
with the deviation on both sides, which is all that a cache has, did not contain the value.

Source: Bristol, "Swinging door trending: adaptive trend recording?" (1990).
"""

import numpy as np

from penstock.errors import BadInput
from penstock.kernel.jit import kernel
from penstock.numeric import check_number


def compress(time: np.ndarray, value: np.ndarray, deviation: float) -> np.ndarray:
    """Return which rows are kept, in order; the first and the last always are.

    >>> compress(np.arange(6.0), np.array([0.0, 1.0, 2.0, 3.0, 0.0, -3.0]), deviation=0.5)
    array([0, 3, 5])
    """
    check_number("deviation", deviation, 0)
    if len(time) != len(value) or len(time) == 0:
        raise BadInput(f"a series must have as many times as values, got {len(time)}, {len(value)}")
    if not (np.diff(time) > 0).all():
        raise BadInput("the times of a series must grow from row to row; sort it, drop duplicates")
    kept = np.zeros(len(time), np.bool_)
    _swing(np.asarray(time, np.float64), np.asarray(value, np.float64), float(deviation), kept)
    return np.flatnonzero(kept)


def rebuild(time: np.ndarray, value: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the series as a historian shows it: straight lines between the kept points.

    >>> rebuild(np.arange(3.0), np.array([0.0, 9.0, 4.0]), np.array([0, 2]))
    array([0., 2., 4.])
    """
    return np.interp(time, time[kept], value[kept])


def live_misses(value: np.ndarray, kept: np.ndarray, deviation: float) -> int:
    """Count the rows whose value is not within the deviation of the last kept value before.

    >>> live_misses(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 3]), deviation=1.5)
    1
    """
    last = kept[np.searchsorted(kept, np.arange(len(value)), side="right") - 1]
    return int((np.abs(value - value[last]) > deviation).sum())


@kernel
def _swing(time, value, deviation, kept):
    """Mark the rows that are kept."""
    hinge, steepest, flattest = 0, np.inf, -np.inf
    kept[0] = True
    for i in range(1, len(time)):
        width = time[i] - time[hinge]
        steepest = min(steepest, (value[i] + deviation - value[hinge]) / width)
        flattest = max(flattest, (value[i] - deviation - value[hinge]) / width)
        if flattest > steepest:
            hinge = i - 1
            kept[hinge] = True
            width = time[i] - time[hinge]
            steepest = (value[i] + deviation - value[hinge]) / width
            flattest = (value[i] - deviation - value[hinge]) / width
    kept[len(time) - 1] = True
