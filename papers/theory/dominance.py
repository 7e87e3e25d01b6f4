"""Dominance: when one tuple is the better one to keep, however long it will be kept.

An ECB (expected cumulative benefit, `papers.theory.benefit`)
is an array B(1), B(2), ... up to some horizon; nothing is said about later steps.
Functions of two ECBs compare along the last axis and broadcast over the others. Where one ECB
dominates another, some optimal algorithm keeps the first or discards the second; so a set can be
discarded if each ECB outside dominates each in it.

What is equal on paper may differ by rounding: `slack` is by how much a B may fall short and still
count as equal.

Source: section 5.2, theorem 1 and corollary 2 of Xie, Yang and Chen, "On Joining and Caching
Stochastic Streams" (SIGMOD 2005).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInput
from penstock.numeric import Ints

Truths = NDArray[np.bool_]


def dominates(a: ArrayLike, b: ArrayLike, *, slack: float = 0.0) -> Truths:
    """Tell whether a is never below b.

    >>> bool(dominates([1, 2], [1, 1])), bool(dominates([1, 3], [2, 2]))
    (True, False)
    """
    return np.asarray((np.asarray(a) >= np.asarray(b) - slack).all(axis=-1))


def strongly_dominates(a: ArrayLike, b: ArrayLike, *, slack: float = 0.0) -> Truths:
    """Tell whether a is always above b.

    >>> bool(strongly_dominates([2, 2], [1, 1])), bool(strongly_dominates([1, 2], [1, 1]))
    (True, False)
    """
    return np.asarray((np.asarray(a) > np.asarray(b) + slack).all(axis=-1))


def comparable(a: ArrayLike, b: ArrayLike, *, slack: float = 0.0) -> Truths:
    """Tell whether one of the two dominates the other.

    >>> bool(comparable([1, 1], [1, 2])), bool(comparable([1, 3], [2, 2]))
    (True, False)
    """
    return dominates(a, b, slack=slack) | dominates(b, a, slack=slack)


def dominated_subset(ecbs: ArrayLike, size: int, *, slack: float = 0.0) -> Ints | None:
    """Return the places of `size` ECBs that all others dominate, in order; None: there are none.

    `ecbs` holds one ECB a row.

    >>> w, x, y, z = [9, 9, 9], [3, 4, 4], [1, 1, 1], [1, 3, 6]
    >>> dominated_subset([w, x, y, z], 3)
    array([1, 2, 3])
    >>> dominated_subset([w, x, y, z], 2) is None  # x gains early, z late
    True
    """
    order, fits = _sizes(ecbs, slack)
    if not 0 <= size <= len(order):
        raise BadInput(f"size must be from 0 to the number of ECBs, {len(order)}, got {size}")
    return np.sort(order[:size]) if fits[size] else None


def safe_to_discard(ecbs: ArrayLike, surplus: int, *, slack: float = 0.0) -> Ints:
    """Return the largest dominated subset of at most `surplus` ECBs (corollary 2).

    >>> safe_to_discard([[9, 9, 9], [3, 4, 4], [1, 1, 1], [1, 3, 6]], surplus=2)
    array([2])
    """
    order, fits = _sizes(ecbs, slack)
    if surplus < 0:
        raise BadInput(f"surplus must be at least 0, got {surplus}")
    size = int(np.flatnonzero(fits[: surplus + 1])[-1])  # the empty set is always dominated
    return np.sort(order[:size])


def _sizes(ecbs: ArrayLike, slack: float) -> tuple[Ints, Truths]:
    """Return an order of the ECBs, and for each size whether the first so many are dominated.

    If there is a dominated subset of a size, the first ones by sum are one: what dominates has the
    larger sum, or else is the same. So one order serves all sizes.
    """
    table = np.asarray(ecbs, np.float64)
    if table.ndim != 2:
        raise BadInput(f"ecbs must be a table of one ECB a row, got {table.ndim} dimension(s)")
    # Sums may be rounded to be equal; then the first B that differs tells.
    order = np.lexsort((*table.T[::-1], table.sum(axis=1)))
    inside = np.maximum.accumulate(table[order])  # [n - 1]: the best of the first n
    outside = np.minimum.accumulate(table[order][::-1])[::-1]  # [n]: the worst of the others
    fits = np.ones(len(table) + 1, np.bool_)
    fits[1:-1] = dominates(outside[1:], inside[:-1], slack=slack)
    return order, fits
