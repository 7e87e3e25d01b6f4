"""A sample of the keys, by their hashes: of a key either all tuples are in it or none.

So a memory smaller by the same share meets a stream that is to it what the whole stream is to the
whole memory.

Source: Waldspurger et al., "Efficient MRC construction with SHARDS" (FAST 2015); for any policy,
the same authors' "Cache modeling and optimization using miniature simulations" (ATC 2017).
"""

import numpy as np

from ..core.jit import kernel
from ..core.rng import mix

SALT = np.uint64(0x5851F42D4C957F2D)  # whoever else hashes keys must not see the same ones together
BITS = np.uint64(11)  # of a hash of 64 bits 53 are compared
WHOLE = 2**53


def sampled(key: np.ndarray, share: float) -> np.ndarray:
    """Return the places of the keys that are in a sample of this share.

    >>> keys = np.arange(10_000)
    >>> len(sampled(keys, 1)), 900 < len(sampled(keys, 0.1)) < 1100
    (10000, True)
    """
    if share >= 1:
        return np.arange(len(key))
    marks = np.zeros(len(key), np.bool_)
    _mark(np.ascontiguousarray(key), np.uint64(round(share * WHOLE)), marks)
    return np.flatnonzero(marks)


@kernel
def _mark(key, threshold, marks):
    for place in range(key.shape[0]):
        marks[place] = (mix(np.uint64(key[place]) ^ SALT) >> BITS) < threshold
