"""Distances counted in bins that are narrow where distances are short.

Up to 128 every distance has a bin of its own; above, 64 bins share each doubling, so that a bin is
at most 1.6 % wide. Some thousand bins hold distances of any size.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numeric import Ints

BITS = 6  # a doubling has 2 ** BITS bins
LONGEST = (1 << 48) - 1  # distance; longer ones are counted with it

Floats = NDArray[np.float64]


def bin_of(distance: ArrayLike) -> Ints:
    """Return the bin of each distance.

    >>> bin_of([0, 1, 127, 128, 129, 130]).tolist()
    [0, 1, 127, 128, 128, 129]
    """
    whole = np.minimum(np.asarray(distance), LONGEST).astype(np.int64)
    shift = np.maximum(np.frexp(whole.astype(np.float64))[1].astype(np.int64) - BITS - 1, 0)
    return (shift << BITS) + (whole >> shift)


BINS = int(bin_of(LONGEST)) + 1


def _last_of_each() -> Ints:
    number = np.arange(BINS)
    shift = np.maximum((number >> BITS) - 1, 0)
    return ((number - (shift << BITS) + 1) << shift) - 1


LAST = _last_of_each()  # int64[BINS]: the longest distance of each bin


def counted(distance: Ints) -> Floats:
    """Return how many distances fall into each bin."""
    return np.bincount(bin_of(distance), minlength=BINS).astype(np.float64)
