"""How popular the keys are, and the Zipf law that fits best.

The law gives the key of rank r = 1 .. D the probability r^-z / sum of s^-z. The exponent is the
maximum-likelihood estimate: the z for which the law's mean of log r equals that of the stream. Its
standard error comes from the Fisher information of n independent draws, 1 / sqrt(n Var(log r)).
Rows that repeat each other carry less information, so with locality the true error is larger.

Ranks are the observed ones, and D is the number of different keys that were observed. In a short
stream, both make the law look better than it is: where most keys occur once or twice, sorting by
chance makes the head steeper, and the unobserved tail is missing.

Keys that occur equally often are kept together, and sums over ranks are computed in closed form, so
that a billion keys need no table of a billion entries.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..numeric import Estimate, Floats, Ints, log_factorial, root

STEEPEST = 100.0  # exponent: beyond it the second key would occur once in 1e30 rows
COMPARED = 4000  # ranks at which the law is compared with the counts
HEAD = 1000  # ranks summed one by one; the formula for the rest then errs by less than 1e-12
NODE, WEIGHT = np.polynomial.legendre.leggauss(64)  # of the quadrature


@dataclass(frozen=True, eq=False)
class Popularity:
    """Counts by rank, and the fit."""

    count: Ints  # int64[steps]: rows per key; never increases
    alike: Ints  # int64[steps]: the number of keys that have this count, at consecutive ranks
    exponent: Estimate = field(default=Estimate(0.0))  # z and its standard error
    misfit: float = 0.0  # largest difference of the share of the r top keys, counted and fitted

    @property
    def keys(self) -> int:
        """The number of different keys."""
        return int(self.alike.sum())

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.count @ self.alike)

    def share(self, rank: ArrayLike) -> Floats:
        """Return the share of the stream that the key of each rank has; ranks start from 1."""
        step = np.searchsorted(np.cumsum(self.alike), rank)
        return self.count[step] / self.total

    def top(self, keys: ArrayLike) -> Floats:
        """Return the share of the stream that this many of the most popular keys have.

        >>> Popularity(np.array([6, 2]), np.array([1, 2])).top([1, 2, 3]).tolist()
        [0.6, 0.8, 1.0]
        """
        ends = np.append(0, np.cumsum(self.alike))
        rows = np.append(0, np.cumsum(self.count * self.alike))
        return np.interp(np.asarray(keys), ends, rows) / self.total

    def law(self, rank: ArrayLike) -> Floats:
        """Return the shares by the fitted law."""
        z = self.exponent.value
        return np.asarray(rank, np.float64) ** -z / power_sums(self.keys, z)[0]


def fit_zipf(count: Ints, alike: Ints | None = None) -> Popularity:
    """Fit a Zipf law to counts by rank; `alike`: the number of keys of each count, 1 by default.

    >>> round(fit_zipf(np.array([6000, 3000, 2000, 1500])).exponent.value, 6)
    1.0
    """
    alike = np.ones(len(count), np.int64) if alike is None else alike
    seen = Popularity(count, alike)
    logs_up_to = log_factorial(np.append(0, np.cumsum(alike)))  # the sum of log r up to each step
    target = float(count @ np.diff(logs_up_to)) / seen.total

    def excess(z: float) -> float:
        weight, logs, _ = power_sums(seen.keys, z)
        return float(logs / weight - target)

    # Counts never increase, so the likeliest exponent is not below 0.
    z = root(excess, 0.0, STEEPEST) if excess(0.0) > 0 else 0.0
    weight, logs, squares = power_sums(seen.keys, z)
    variance = squares / weight - (logs / weight) ** 2
    error = float(1 / np.sqrt(seen.total * variance)) if variance > 0 else None
    return Popularity(count, alike, Estimate(z, error), _misfit(seen, z))


def _misfit(seen: Popularity, z: float) -> float:
    """Return the largest difference; for many keys at some thousand ranks, step ends included."""
    keys = seen.keys
    rank = np.unique(np.rint(np.geomspace(1, keys, COMPARED)).astype(np.int64))
    ends = np.cumsum(seen.alike)
    if len(ends) > COMPARED:
        ends = ends[np.linspace(0, len(ends) - 1, COMPARED).astype(np.int64)]
    rank = np.union1d(rank, ends) if keys > COMPARED else np.arange(1, keys + 1)
    law = power_sums(rank, z)[0] / power_sums(keys, z)[0]
    return float(np.abs(seen.top(rank) - law).max())


def power_sums(last: ArrayLike, z: float) -> Floats:
    """Return the sums of r^-z, r^-z log r and r^-z (log r)^2 over r = 1 .. last.

    There is one column for each `last`. The first ranks are summed one by one, the rest by the
    Euler-Maclaurin formula: the integral, half of both ends, and a correction by the slopes there.
    On a logarithmic scale the integrand is smooth, and Gauss quadrature is exact to all digits.

    >>> power_sums([1, 2, 4], 0.0)[0].tolist()
    [1.0, 2.0, 4.0]
    """
    last = np.asarray(last, np.int64)
    ranks = np.arange(1, min(HEAD, int(last.max())) + 1)
    head = np.cumsum(_terms(np.log(ranks), z), axis=1)[:, np.minimum(last, len(ranks)) - 1]
    beyond = last > HEAD
    if beyond.any():
        head[:, beyond] += _tail(np.log(last[beyond].astype(np.float64)), z)
    return head


def _tail(end: Floats, z: float) -> Floats:
    """Return the sums over HEAD < r <= exp(end)."""
    start = np.full_like(end, np.log(float(HEAD)))
    half = (end - start) / 2
    at = start + half * (NODE[:, None] + 1)
    integral = half * np.einsum("n,tnl->tl", WEIGHT, _terms(at, z) * np.exp(at))
    ends = (_terms(end, z) - _terms(start, z)) / 2
    return np.asarray(integral + ends + (_slopes(end, z) - _slopes(start, z)) / 12)


def _terms(log_rank: Floats, z: float) -> Floats:
    weight = np.exp(-z * log_rank)
    return np.stack((weight, weight * log_rank, weight * log_rank**2))


def _slopes(log_rank: Floats, z: float) -> Floats:
    """Return the derivatives of the terms with respect to the rank."""
    weight, logs, squares = _terms(log_rank, z)
    by_log = np.stack((-z * weight, weight - z * logs, 2 * logs - z * squares))
    return by_log * np.exp(-log_rank)
