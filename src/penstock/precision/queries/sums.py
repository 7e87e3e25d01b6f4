"""SUM and AVG: bounds, and the cheapest set of refreshes.

The width of a sum is the sum of the widths, whatever the values turn out to be. So the question is
which widths to keep: those that fit into δ, and spare the most. That is a knapsack; with equal
costs its answer is to keep the narrowest. Sums are exact: nothing is rounded on the way.

Source: Olston, Widom, "Offering a precision-performance tradeoff for aggregation queries over
replicated data" (2000), which approximates the knapsack where costs differ. Here an integer program
solves it.
"""

from fractions import Fraction

import numpy as np

from ...extras import need
from ..rounding import Exact, nearest, total
from ..rounding import width as exact_width


def ends(low: np.ndarray, high: np.ndarray) -> tuple[Exact, Exact]:
    """Return the bounds of the sum, exactly.

    >>> ends(np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    (Fraction(3, 1), Fraction(7, 2))
    """
    return total(low.tolist()), total(high.tolist())


def refreshes(
    low: np.ndarray, high: np.ndarray, delta: float | Fraction, costs: np.ndarray | None = None
) -> list[int]:
    """Return the cheapest set whose refresh leaves widths of δ in all, the widest first.

    >>> refreshes(np.array([0.0, 0.0, 0.0]), np.array([5.0, 1.0, 3.0]), delta=4)
    [0]
    """
    width = widths(low, high)
    widest = np.argsort(-width, kind="stable")
    if costs is None:
        return _narrowest_stay(low, high, width, widest, delta)
    chosen = _cheapest(width, nearest(delta), costs)
    for i in widest.tolist():  # the solver works with a tolerance, which is mended here
        kept = np.array([j for j in widest.tolist() if j not in chosen], np.int64)
        if _fit(low[kept], high[kept], delta):
            break
        chosen.add(i)
    return [i for i in widest.tolist() if i in chosen]


def widths(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the widths, rounded; infinite where a float cannot hold them."""
    with np.errstate(over="ignore"):
        return high - low


def _fit(low: np.ndarray, high: np.ndarray, delta: float | Fraction) -> bool:
    """Tell whether the widths of some intervals add up to δ at most."""
    return exact_width(*ends(low, high)) <= delta


def _narrowest_stay(
    low: np.ndarray,
    high: np.ndarray,
    width: np.ndarray,
    widest: np.ndarray,
    delta: float | Fraction,
) -> list[int]:
    """Keep the narrowest that fit into δ together."""
    with np.errstate(over="ignore"):
        sums = np.cumsum(width[widest[::-1]])
    # These sums are rounded, so this many may be off by one or two.
    kept = int(np.searchsorted(sums, nearest(delta), side="right"))
    while kept and not _fit(low[widest[-kept:]], high[widest[-kept:]], delta):
        kept -= 1
    while kept < len(widest) and _fit(low[widest[-kept - 1 :]], high[widest[-kept - 1 :]], delta):
        kept += 1
    return [int(i) for i in widest[: len(widest) - kept]]


def _cheapest(width: np.ndarray, delta: float, costs: np.ndarray) -> set[int]:
    """Solve the knapsack: refresh 0 or 1 of each, at the least cost."""
    must = np.isinf(width)
    rest = np.flatnonzero(~must & (width > 0))
    chosen = {int(i) for i in np.flatnonzero(must)}
    if not len(rest):
        return chosen
    scale = width[rest].max()
    with np.errstate(over="ignore"):
        scaled = width[rest] / scale
        excess = scaled.sum() - delta / scale
    if excess <= 0:
        return chosen
    optimize = need("scipy.optimize", "a query whose sources differ in cost")
    found = optimize.milp(
        costs[rest],
        constraints=optimize.LinearConstraint(scaled[None, :], lb=excess),
        integrality=np.ones(len(rest)),
        bounds=optimize.Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return chosen | {int(i) for i in rest[found.x > 0.5]}
