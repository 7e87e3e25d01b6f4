"""How far a mean over parts of a sample may be off: 95 % intervals from the spread of the parts."""

import numpy as np
from numpy.typing import NDArray

from ..numeric import student_within

Floats = NDArray[np.float64]


def ratio(part: Floats, whole: Floats, known: float) -> tuple[Floats, Floats]:
    """Return sums of parts over sums of wholes, and the error: half the width of the interval.

    part: float64[samples, ratios]. whole: float64[samples].
    known: which part of everything the samples make up; of the whole of it nothing is left to err.

    Source: Cochran, "Sampling techniques", section 6.4.
    """
    samples, total = len(whole), whole.sum()
    value = part.sum(axis=0) / total
    if samples < 2:
        return value, np.ones_like(value)
    off = part - value * whole[:, None]
    spread = np.sqrt((off**2).sum(axis=0) * samples / (samples - 1)) / total
    return value, _wide(samples) * spread * np.sqrt(max(0.0, 1 - known))


def mean_error(values: Floats, known: float) -> float:
    """Return how far the mean of several estimates may be off.

    >>> round(mean_error(np.array([1.0, 2.0, 3.0]), known=0.0), 3)
    2.484
    """
    if len(values) < 2:
        return float("inf")
    spread = float(values.std(ddof=1)) / np.sqrt(len(values))
    return float(_wide(len(values)) * spread * np.sqrt(max(0.0, 1 - known)))


def _wide(samples: int) -> float:
    return student_within(0.95, samples - 1)
