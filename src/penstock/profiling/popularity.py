"""How popular the keys are, and the Zipf law that comes nearest.

The law says that the key of rank r = 1 .. D is drawn with probability r^-z / sum of s^-z. The
exponent is the likeliest one: the z at which the law's mean of log r is the stream's. Its standard
error comes from the Fisher information of n independent draws, 1 / sqrt(n Var(log r)); tuples that
repeat each other tell less, so in a stream with locality the true error is larger.

Ranks are those that were observed, and D is the number of different keys that were seen. Both
flatter the law in a short stream: where most keys come once or twice, sorting by luck steepens the
head and the unseen tail is missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..models.record import Estimate
from ..workloads.trace import Ints

STEEPEST = 100.0  # exponent: beyond it the second key would come once in 1e30 tuples

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Popularity:
    """Counts by rank, and the fit."""

    count: Ints  # int64[keys]: never rises
    exponent: Estimate  # z, and its standard error
    misfit: float  # largest gap between the shares of the r top keys, as counted and by the law

    @property
    def share(self) -> Floats:
        """The part of the stream that each rank makes up."""
        return self.count / self.count.sum()

    @property
    def law(self) -> Floats:
        """The shares by the fitted law."""
        return _law(np.log(np.arange(1, len(self.count) + 1)), self.exponent.value)


def fit_zipf(count: Ints) -> Popularity:
    """Fit a Zipf law to counts by rank.

    >>> fit_zipf(np.array([6000, 3000, 2000, 1500])).exponent
    Estimate(value=1.0..., error=0.0...)
    """
    log_rank = np.log(np.arange(1, len(count) + 1))
    share = count / count.sum()
    target = share @ log_rank

    def excess(z: float) -> float:
        return float(_law(log_rank, z) @ log_rank - target)

    # Counts never rise, so no exponent below 0 can be the likeliest.
    z = float(brentq(excess, 0.0, STEEPEST)) if excess(0.0) > 0 else 0.0
    law = _law(log_rank, z)
    variance = law @ log_rank**2 - (law @ log_rank) ** 2
    error = float(1 / np.sqrt(count.sum() * variance)) if variance > 0 else None
    misfit = float(np.abs(np.cumsum(share) - np.cumsum(law)).max())
    return Popularity(count, Estimate(z, error), misfit)


def _law(log_rank: Floats, z: float) -> Floats:
    weight = np.exp(-z * log_rank)
    return np.asarray(weight / weight.sum())
