"""Memories that change their sizes: nobody is thrown out for it, and the whole never grows."""

import numpy as np

STEPS = 16  # looks after which a memory that was empty has its size, or sooner


def moved(used: np.ndarray, budget: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the sizes to go on with, one step nearer to `target`: int64[lanes].

    A memory that holds more than it should is made smaller by a step; it gives up the rest as its
    newcomers come. What that leaves is shared out among the others.

    >>> used, target = np.array([8, 2]), np.array([5, 5])
    >>> moved(used, used, target).tolist(), moved(np.array([7, 2]), used, target).tolist()
    ([7, 2], [6, 3])
    """
    after = target.copy()
    over = used > target
    step = max(1, int(target.sum()) // STEPS)
    after[over] = np.maximum(target, np.minimum(budget, used) - step)[over]
    room = np.where(over, 0, target - used)
    spare = target.sum() - np.maximum(used, after)[over].sum() - used[~over].sum()
    if spare < room.sum():
        after[~over] = (used + spare * room // max(1, room.sum()))[~over]
    return after
