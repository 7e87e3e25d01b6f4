"""Split one budget into a memory per stream, and move memories to other sizes.

A memory that changes its size evicts nothing for it, and the whole never grows.
"""

from collections.abc import Sequence
from math import floor

import numpy as np

from ..errors import BadInput

STEPS = 16  # looks after which a memory that was empty has its size, or sooner


def split_budget(budget: int, lanes: int, shares: Sequence[float] | None = None) -> list[int]:
    """Return whole parts of `budget` in the proportion of `shares`, each at least 1.

    >>> split_budget(10, 2, [0.75, 0.25])
    [8, 2]
    >>> split_budget(5, 2)
    [3, 2]
    """
    if budget < lanes:
        raise BadInput(f"budget must be at least 1 per memory ({lanes} of them), got {budget}")
    if shares is None:
        shares = [1 / lanes] * lanes
    if len(shares) != lanes or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise BadInput(
            f"shares must be {lanes} numbers of at least 0 that sum to 1, got {list(shares)}"
        )
    exact = [budget * share for share in shares]
    parts = [floor(part) for part in exact]
    # What rounding left over goes to the largest fractions, the lower stream first.
    by_fraction = sorted(range(lanes), key=lambda lane: (parts[lane] - exact[lane], lane))
    for lane in by_fraction[: budget - sum(parts)]:
        parts[lane] += 1
    while min(parts) < 1:
        parts[parts.index(max(parts))] -= 1
        parts[parts.index(min(parts))] += 1
    return parts


def parts_of(budget: int, lanes: int, shares: Sequence[float] | None) -> list[int]:
    """Return the parts of a budget that may be too small for all: the first then has all of it.

    >>> parts_of(1, 2, None), parts_of(4, 2, None)
    ([1, 0], [2, 2])
    """
    if budget < lanes:
        return [budget] + [0] * (lanes - 1)
    return split_budget(budget, lanes, shares)


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
