"""The locality model, and how often it expects a key among the next T rows.

    x_n = x_{n-i} with probability a_i, i = 1 .. h;  y, drawn from P, with probability b

A row repeats one of the last h rows, or is drawn from the popularity P. b is the part of the
locality that popularity alone explains: 1 for independent draws. `locality_fit.py` estimates the
parameters from a stream; `Locality` draws streams from the model.

The number of times that key e is expected within T steps is

    E_T(e) = sum over the lags k at which e occurred of c_k  +  c_b P(e)

where c_k and c_b are the column sums of M^T, and M is the characteristic matrix of the paper. They
are computed without matrix powers. Within m steps a row is repeated g(m) times, itself included:

    g(m) = 1 + a_1 g(m - 1) + ... + a_h g(m - h)

The row at lag k is repeated i steps from now with probability a_{k-1+i}, and that repetition occurs
g(T - i) times in total by the end. The same holds for the rows that are drawn from P.

Source: sections 3.1 and 3.2 and lemmas 2 and 3 of Li, Chang, Kollios and Bestavros,
"Characterizing and Exploiting Reference Locality in Data Stream Applications" (ICDE 2006).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.jit import kernel
from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from ..numeric import Floats, Ints

FAR = 4096  # steps after which g is constant: beyond them the sums grow linearly
SLACK = 1e-9  # largest difference between a sum of probabilities and 1


class Weights(NamedTuple):
    """The parameters of the model, a_1 .. a_h and b, as given or estimated."""

    a: Floats  # float64[h]
    b: float

    @property
    def h(self) -> int:
        """The number of preceding rows that the model looks back on."""
        return len(self.a)


class Locality:
    """The model with known parameters; keys are 0 .. len(popularity) - 1.

    >>> Locality(a=[0.9], b=0.1, popularity=[0.5, 0.5]).sample(12, seed=1).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, a: ArrayLike, b: float, popularity: ArrayLike) -> None:
        self.a = np.atleast_1d(np.asarray(a, np.float64))
        self.b = float(b)
        self.popularity = np.asarray(popularity, np.float64)
        _check_sum("a_1 .. a_h and b", np.append(self.a, self.b))
        _check_sum("popularity", self.popularity)

    def __repr__(self) -> str:
        return f"Locality(h={len(self.a)}, b={self.b:g}, keys={len(self.popularity)})"

    def sample(self, length: int, seed: int, stream: int = 0) -> Ints:
        """Return a stream; a row that would repeat one before the first is drawn from P.

        Streams of another number are drawn independently.
        """
        at_least("length", length, 0)
        random = source(seed, stream) if stream else source(seed)
        key = random.choice(len(self.popularity), length, p=self.popularity)
        back = random.choice(len(self.a) + 1, length, p=np.append(self.b, self.a))
        _copy_back(key, back)
        return key


@kernel
def _copy_back(key, back):
    for now in range(key.shape[0]):
        if 0 < back[now] <= now:
            key[now] = key[now - back[now]]


def _check_sum(name: str, p: Floats) -> None:
    if p.ndim != 1 or not (p >= 0).all() or abs(p.sum() - 1) > SLACK:
        raise BadInput(
            f"{name} must be probabilities that sum to 1, got a sum of {p.sum():g}"
            f" and a smallest of {p.min(initial=1):g}"
        )


class Expected(NamedTuple):
    """The column sums of M^T."""

    repeated: Floats  # float64[h]: c_1 .. c_h, for the rows at lag 1 .. h
    afresh: float  # c_b: to be multiplied by P


def expected(weights: Weights, steps: int) -> Expected:
    """Return how many of the next `steps` rows repeat each of the last h rows, or stem from P.

    >>> ahead = expected(Weights(np.array([0.5]), 0.5), steps=2)
    >>> ahead.repeated.tolist(), ahead.afresh
    ([0.75], 1.25)
    """
    at_least("steps", steps, 1)
    near = min(steps, FAR)
    times = repeats(weights, near)
    afresh = weights.b * float(times[:near].sum())
    beyond = (steps - near) * weights.b * float(times[near])
    repeated = np.zeros(weights.h)
    _repeat(weights.a, times, repeated)
    return Expected(repeated, afresh + beyond)


def repeats(weights: Weights, steps: int) -> Floats:
    """Return g(0) .. g(steps)."""
    times = np.empty(steps + 1)
    _grow(weights.a, times)
    return times


@kernel
def _grow(a, times):
    for step in range(times.shape[0]):
        total = 1.0
        for lag in range(1, min(a.shape[0], step) + 1):
            total += a[lag - 1] * times[step - lag]
        times[step] = total


@kernel
def _repeat(a, times, sums):
    h, steps = a.shape[0], times.shape[0] - 1
    for lag in range(1, h + 1):
        for ahead in range(1, min(steps, h - lag + 1) + 1):
            sums[lag - 1] += a[lag + ahead - 2] * times[steps - ahead]
