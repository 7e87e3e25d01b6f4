"""Where the key of each tuple came before, and a seeded permutation of a stream."""

import numpy as np

from ..core.rng import source
from ..numeric import Ints

ORDER = 1  # the random source of permutations


def previous(keys: Ints) -> Ints:
    """Return the place of the last tuple before each one that has its key; -1: there is none.

    >>> previous(np.array([7, 8, 7, 7])).tolist()
    [-1, -1, 0, 2]
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    before = np.full(len(keys), -1, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def permuted(keys: Ints, seed: int) -> Ints:
    """Return the same tuples in random order: what is left is locality by popularity alone."""
    return source(seed, ORDER).permutation(keys)
