"""Whether the order of keys means something: does a key tell where the next ones will be?

Of keys that are hashes, or names by number, two that follow each other are as far apart as any two,
unless they are the same: that says nothing about order.
"""

import numpy as np

FEWEST = 64  # keys, to say anything
LAG = 4  # keys that came so shortly after each other are compared,
NEARER = 0.6  # and must be nearer to each other than this share of the distance of any two


def looks_ordered(keys: np.ndarray) -> bool:
    """Tell whether keys that follow each other are near each other.

    >>> drawn = np.random.default_rng(1).integers(0, 1000, 500)
    >>> looks_ordered(drawn), looks_ordered(np.arange(500) + drawn // 50)
    (False, True)
    """
    if len(keys) < FEWEST:
        return False
    values = keys.astype(np.float64)
    near = np.abs(values[LAG:] - values[:-LAG])
    far = np.abs(values - np.roll(values, len(values) // 2))
    near, far = near[near > 0], far[far > 0]
    return min(len(near), len(far)) > 0 and bool(np.mean(near) < NEARER * np.mean(far))
