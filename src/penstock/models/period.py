"""Finding the period of a season by periodogram.

An autoregression alone has a periodogram that rises towards slow waves. So the AR(1) is taken out
first; what it leaves is flat if there is no season, and each ordinate over their mean is then
exponential. The largest must be too large for chance.
"""

import numpy as np

from ..errors import BadInput
from ..numeric import minimum
from .cells import Floats
from .least_squares import regress

CHANCE = 1e-3  # that the largest ordinate of a stream without a season would stand out
CYCLES = 2  # fewest whole periods in the data
PAD = 4  # frequencies between those of the transform; a period seldom divides the data


def find_period(data: np.ndarray) -> float:
    """Return the period whose wave explains most, in steps.

    >>> round(find_period(100 * np.sin(np.arange(400) / 25 * 2 * np.pi)), 3)
    25.0
    """
    x = np.asarray(data, dtype=np.float64)
    left = regress(x[1:], np.ones(len(x) - 1), x[:-1]).residual
    count = len(left)
    power = np.abs(np.fft.rfft(left, PAD * count)) ** 2
    frequency = np.arange(len(power)) / (PAD * count)
    power[frequency < CYCLES / len(x)] = 0
    power[frequency > 0.499] = 0  # periods of 2 steps: no phase to fit
    top = int(np.argmax(power))
    share = power[top] / max(float(left @ left), 1e-300)  # over the mean ordinate
    if not share > np.log(count / 2 / CHANCE):
        raise BadInput(
            "data show no period that stands out from chance; pass period= if you know one"
        )
    return _refine(x, frequency[top], 1 / (PAD * count))


def _refine(x: Floats, frequency: float, width: float) -> float:
    """Return the period near a frequency that leaves the least."""
    time = np.arange(1, len(x))

    def left(f: float) -> float:
        angle = 2 * np.pi * f * time
        waves = np.ones(len(time)), x[:-1], np.cos(angle), np.sin(angle)
        return regress(x[1:], *waves).variance

    low, high = max(frequency - width, 1.0 / len(x)), min(frequency + width, 0.4999)
    return 1 / minimum(left, low, high)
