"""SUM and AVG: bounds, and the cheapest set of refreshes.

The width of a sum is the sum of the widths, whatever the values turn out to be. So the question is
which widths to keep: those that fit into δ, and spare the most. That is a knapsack; with equal
costs its answer is to keep the narrowest.

Source: Olston, Widom, "Offering a precision-performance tradeoff for aggregation queries over
replicated data" (2000), which approximates the knapsack where costs differ. Here an integer program
solves it.
"""

import math

import numpy as np


def bounds(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the bounds of the sum, each of them rounded correctly.

    >>> bounds(np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    (3.0, 3.5)
    """
    return math.fsum(low), math.fsum(high)


def refreshes(
    low: np.ndarray, high: np.ndarray, delta: float, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set whose refresh leaves widths of δ in all, the widest first.

    >>> refreshes(np.array([0.0, 0.0, 0.0]), np.array([5.0, 1.0, 3.0]), delta=4)
    [0]
    """
    width = high - low
    widest = [int(i) for i in np.argsort(-width, kind="stable")]
    if costs is None:
        return _narrowest_stay(width, widest, delta)
    chosen = _cheapest(width, delta, costs)
    for i in widest:  # the solver works with a tolerance, which is mended here
        if math.fsum(width[j] for j in widest if j not in chosen) <= delta:
            break
        chosen.add(i)
    return [i for i in widest if i in chosen]


def _narrowest_stay(width: np.ndarray, widest: list[int], delta: float) -> list[int]:
    """Keep the narrowest that fit into δ together."""
    kept = 0.0
    for place in range(len(widest), 0, -1):
        kept = math.fsum((kept, width[widest[place - 1]]))
        if kept > delta:
            return widest[:place]
    return []


def _cheapest(width: np.ndarray, delta: float, costs: np.ndarray) -> set[int]:
    """Solve the knapsack: refresh 0 or 1 of each, at the least cost."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    must = np.isinf(width)
    rest = np.flatnonzero(~must & (width > 0))
    chosen = {int(i) for i in np.flatnonzero(must)}
    excess = width[rest].sum() - delta
    if excess <= 0:
        return chosen
    scale = width[rest].max()
    found = milp(
        costs[rest],
        constraints=LinearConstraint(width[rest][None, :] / scale, lb=excess / scale),
        integrality=np.ones(len(rest)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return chosen | {int(i) for i in rest[found.x > 0.5]}
