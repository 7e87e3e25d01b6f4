"""Keys that come so often that a sample of the keys says the wrong thing, with them or without.

A key with a tenth of all rows is either in the sample of a hundredth, and fills the miniature, or
it is not. So such keys are left out of samples, and so is the memory that they take.
"""

import numpy as np

HOT = 1 / 128  # of the rows that came lately


def hot_keys(key: np.ndarray, share: float) -> np.ndarray:
    """Return the keys that are hot, in order; among all keys (a share of 1) none is.

    >>> hot_keys(np.array([7] * 50 + list(range(1000))), 0.1).tolist()
    [7]
    """
    if share >= 1 or not len(key):
        return np.zeros(0, np.int64)
    values, counts = np.unique(key, return_counts=True)
    return values[counts > HOT * len(key)]


def cold_share(held: np.ndarray, hot: np.ndarray) -> float:
    """Return which share of the held rows is left for keys that are not hot, half at least."""
    if not len(hot) or not len(held):
        return 1.0
    return max(0.5, 1.0 - float(np.isin(held, hot).mean()))
