"""How often a key is expected among the next T tuples, by the locality model.

    E_T(e) = sum over the lags k at which e came of c_k  +  c_b P(e)

where c_k and c_b are the sums of the columns of M^T, M the characteristic matrix. They are not
found by matrix powers: a tuple repeats itself within m steps g(m) times, itself included, with

    g(m) = 1 + a_1 g(m - 1) + ... + a_h g(m - h)

and what came at lag k is repeated i steps from now with probability a_{k-1+i}, each time to be
repeated g(T - i) times in all by the end. What is drawn afresh goes on in the same way.

Source: section 3.2 and lemmas 2 and 3 of Li, Chang, Kollios and Bestavros, "Characterizing and
Exploiting Reference Locality in Data Stream Applications" (ICDE 2006).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..core.options import at_least
from .locality import Weights

FAR = 4096  # steps after which g has come to rest: from there on the sums are taken to be straight

Floats = NDArray[np.float64]


class Expected(NamedTuple):
    """The sums of the columns of M^T."""

    repeated: Floats  # float64[h]: c_1 .. c_h, of what came at lag 1 .. h
    afresh: float  # c_b: to be multiplied by P


def expected(weights: Weights, steps: int) -> Expected:
    """Return how many of the next `steps` tuples go back to each of the last h, and to P.

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


def characteristic_matrix(weights: Weights, steps: int) -> Floats:
    """Return M, (T + 1) x (T + 1): the next tuple on top of the last ones, and P below.

    >>> characteristic_matrix(Weights(np.array([0.3, 0.2]), 0.5), steps=2).tolist()
    [[0.3, 0.2, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    at_least("steps", steps, weights.h)
    matrix = np.zeros((steps + 1, steps + 1))
    matrix[0, : weights.h], matrix[0, steps] = weights.a, weights.b
    matrix[1:steps, : steps - 1] = np.eye(steps - 1)
    matrix[steps, steps] = 1
    return matrix


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
