"""The locality model by least squares on ranks, as in the paper.

The model expects x_n = a_1 x_{n-1} + ... + a_h x_{n-h} + b Y, where x are the ranks of popularity,
from 1, and Y their mean. The a and b with the least squared error solve h + 1 linear equations
whose coefficients are sums over the stream: O(h^2) space. Nothing keeps the a above 0, nor their
sum with b at 1.

The equations are solved for x - Y, which has the same solution and loses fewer digits.

Source: section 3.1 and lemma 1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting
Reference Locality in Data Stream Applications" (ICDE 2006). Departure: for several h at once
all equations are sums over the tuples that the largest h leaves.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from .locality import Weights
from .stretches import Stretches, whole

Floats = NDArray[np.float64]


def fit_squares(rank: Ints, h: int) -> Weights:
    """Return the estimate of a and b for one h; ranks are from 0.

    >>> from .locality import Locality
    >>> stream = Locality([0.5], 0.5, [0.4, 0.3, 0.2, 0.1]).sample(20_000, seed=1)
    >>> round(fit_squares(stream, h=1).b, 1)
    0.5
    """
    return squares_each(whole(rank), [h])[0]


def squares_each(known: Stretches, horizons: Sequence[int]) -> list[Weights]:
    """Return the estimates by stretches of a stream, for each of several h."""
    longest = max(horizons)
    known.check_h(longest)
    x = known.rank[known.key] - known.mean
    products, sums, count = np.zeros((longest + 1, longest + 1)), np.zeros(longest + 1), 0
    for start, end in zip(known.starts[:-1], known.starts[1:]):
        if end - start > longest:
            parts = lagged_sums(x[start:end], longest)
            products, sums, count = products + parts[0], sums + parts[1], count + parts[2]
    return [_solve(products, sums, count, known.mean, h) for h in horizons]


def lagged_sums(x: Floats, h: int) -> tuple[Floats, Floats, int]:
    """Return the sums of x_{n-j} x_{n-k} and of x_{n-j} for j, k = 0 .. h, and the number of n.

    >>> products, sums, count = lagged_sums(np.array([1.0, 2.0, 4.0]), 1)
    >>> products.tolist(), sums.tolist(), count
    ([[20.0, 10.0], [10.0, 5.0]], [6.0, 3.0], 2)
    """
    n = len(x)
    lagged = [x[h - j : n - j] for j in range(h + 1)]
    products = np.empty((h + 1, h + 1))
    products[0] = [lagged[0] @ each for each in lagged]
    # One lag more on both sides is the same sum, one place earlier: a product comes, one goes.
    early, late = x[:h][::-1], x[n - h :][::-1]
    for j in range(h):
        products[j + 1, 0] = products[0, j + 1]
        products[j + 1, 1:] = products[j, :-1] + early[j] * early - late[j] * late
    return products, np.array([each.sum() for each in lagged]), n - h


def _solve(products: Floats, sums: Floats, count: int, mean: float, h: int) -> Weights:
    left = np.empty((h + 1, h + 1))
    left[:h, :h] = products[1 : h + 1, 1 : h + 1]
    left[:h, h] = left[h, :h] = sums[1 : h + 1]
    left[h, h] = count
    right = np.append(products[1 : h + 1, 0], sums[0])
    # A short stream may leave them dependent; then the smallest of the solutions is taken.
    found = np.linalg.lstsq(left, right)[0]
    a, rest = found[:h], float(found[h])
    # x_n - Y = sum of a_j (x_{n-j} - Y) + rest, and rest = (sum of a + b - 1) Y
    return Weights(a, float(1 - a.sum() + rest / mean))
