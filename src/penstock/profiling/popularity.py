"""How popular the keys are, and the Zipf law that comes nearest.

The law says that the key of rank r = 1 .. D is drawn with probability r^-z / sum of s^-z. The
exponent is the likeliest one: the z at which the law's mean of log r is the stream's. Its standard
error comes from the Fisher information of n independent draws, 1 / sqrt(n Var(log r)); tuples that
repeat each other tell less, so in a stream with locality the true error is larger.

Ranks are those that were observed, and D is the number of different keys that were seen. Both
flatter the law in a short stream: where most keys come once or twice, sorting by luck steepens the
head and the unseen tail is missing.

Keys that come equally often are kept together, and sums over ranks are taken as `power_sums.py`
does, so that a billion keys need no table of a billion lines.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..models.record import Estimate
from ..numeric import Ints, log_factorial, root
from .power_sums import upto

STEEPEST = 100.0  # exponent: beyond it the second key would come once in 1e30 tuples
LOOKED_AT = 4000  # ranks, at which the law is held against what was counted

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Popularity:
    """Counts by rank, and the fit."""

    count: Ints  # int64[steps]: how often a key comes; never rises
    alike: Ints  # int64[steps]: how many keys come so often, one rank after the other
    exponent: Estimate = field(default=Estimate(0.0))  # z, and its standard error
    misfit: float = 0.0  # largest gap between the shares of the r top keys, counted and by the law

    @property
    def keys(self) -> int:
        """How many different keys there are."""
        return int(self.alike.sum())

    @property
    def total(self) -> int:
        """How many tuples there are."""
        return int(self.count @ self.alike)

    def share(self, rank: ArrayLike) -> Floats:
        """Return the part of the stream that the key of each rank makes up; ranks are from 1."""
        step = np.searchsorted(np.cumsum(self.alike), rank)
        return self.count[step] / self.total

    def top(self, keys: ArrayLike) -> Floats:
        """Return the part of the stream that so many of the most popular keys make up.

        >>> Popularity(np.array([6, 2]), np.array([1, 2])).top([1, 2, 3]).tolist()
        [0.6, 0.8, 1.0]
        """
        ends = np.append(0, np.cumsum(self.alike))
        tuples = np.append(0, np.cumsum(self.count * self.alike))
        return np.interp(np.asarray(keys), ends, tuples) / self.total

    def law(self, rank: ArrayLike) -> Floats:
        """Return the shares by the fitted law."""
        z = self.exponent.value
        return np.asarray(rank, np.float64) ** -z / upto(self.keys, z)[0]


def fit_zipf(count: Ints, alike: Ints | None = None) -> Popularity:
    """Fit a Zipf law to counts by rank; `alike`: how many ranks have each count, 1 by default.

    >>> round(fit_zipf(np.array([6000, 3000, 2000, 1500])).exponent.value, 6)
    1.0
    """
    alike = np.ones(len(count), np.int64) if alike is None else alike
    seen = Popularity(count, alike)
    target = _mean_log_rank(seen)

    def excess(z: float) -> float:
        weight, logs, _ = upto(seen.keys, z)
        return float(logs / weight - target)

    # Counts never rise, so no exponent below 0 can be the likeliest.
    z = root(excess, 0.0, STEEPEST) if excess(0.0) > 0 else 0.0
    weight, logs, squares = upto(seen.keys, z)
    variance = squares / weight - (logs / weight) ** 2
    error = float(1 / np.sqrt(seen.total * variance)) if variance > 0 else None
    return Popularity(count, alike, Estimate(z, error), _misfit(seen, z))


def _mean_log_rank(seen: Popularity) -> float:
    ends = np.append(0, np.cumsum(seen.alike))
    logs = log_factorial(ends)  # the sum of log r up to each end
    return float(seen.count @ np.diff(logs)) / seen.total


def _misfit(seen: Popularity, z: float) -> float:
    """Return the largest gap; of many keys at some thousand ranks, the step ends among them."""
    keys = seen.keys
    rank = np.unique(np.rint(np.geomspace(1, keys, LOOKED_AT)).astype(np.int64))
    ends = np.cumsum(seen.alike)
    if len(ends) > LOOKED_AT:
        ends = ends[np.linspace(0, len(ends) - 1, LOOKED_AT).astype(np.int64)]
    rank = np.union1d(rank, ends) if keys > LOOKED_AT else np.arange(1, keys + 1)
    law = upto(rank, z)[0] / upto(keys, z)[0]
    return float(np.abs(seen.top(rank) - law).max())
