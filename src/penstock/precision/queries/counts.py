"""COUNT of the values above a limit: bounds, and the cheapest set of refreshes."""

import numpy as np


def bounds(low: np.ndarray, high: np.ndarray, limit: float) -> tuple[float, float]:
    """Return how many values are above the limit at least, and at most.

    >>> bounds(np.array([1.0, 5.0, 7.0]), np.array([2.0, 9.0, 8.0]), limit=6)
    (1.0, 2.0)
    """
    return float((low > limit).sum()), float((high > limit).sum())


def refreshes(
    low: np.ndarray,
    high: np.ndarray,
    limit: float,
    delta: float,
    costs: np.ndarray | None = None,
) -> list[int]:
    """Return the cheapest of those that may be on either side, until δ of them are left.

    >>> refreshes(np.array([1.0, 5.0, 5.0]), np.array([7.0, 9.0, 8.0]), limit=6, delta=1)
    [0, 1]
    """
    unsure = np.flatnonzero((low <= limit) & (high > limit))
    if costs is not None:
        unsure = unsure[np.argsort(costs[unsure], kind="stable")]
    return [int(i) for i in unsure[: max(len(unsure) - int(delta), 0)]]
