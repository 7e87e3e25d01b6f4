"""H beside a trend in wide noise, computed on a coarse grid.

If the noise spans tens of thousands of cells and the line rises slowly, neighbouring values have
nearly the same H, and the probabilities of a value hardly change from step to step. So cells are
taken together, as are the steps that the line needs for one point of the grid. The cost depends
neither on the width of the noise nor on the number of steps ahead.
"""

import numpy as np
from numpy.typing import ArrayLike

from ..numeric import Floats
from .benefit import Lasting
from .noise import Discrete

POINTS = 1024  # into which the noise is divided
AHEAD = 2  # widths of the noise ahead at most: the line has passed by then


def grid_step(noise: Discrete) -> float:
    """Return the number of cells between two points."""
    return len(noise.mass) / POINTS


def beside(
    noise: Discrete, slope: float, lastings: list[Lasting], caching: bool
) -> tuple[float, Floats]:
    """Return the distance of the first point from the line, and H at the points: layers, points.

    >>> low, worth = beside(Discrete.normal(1000, 3000), 0.1, [Lasting("exp", 1e8)], False)
    >>> worth.shape, round(float(worth.max()), 1)  # the line passes a value once, 10 steps per cell
    ((1, 3073), 10.0)
    """
    forth = noise if slope > 0 else Discrete(-noise.highest, noise.mass[::-1])
    step = grid_step(noise)
    stride = step / abs(slope)  # steps until the line has moved by one point
    reach = max(_reach(lasting) for lasting in lastings)
    blocks = int(min(np.ceil(reach / stride), AHEAD * POINTS))
    low = float(forth.lowest) - 0.5
    # The mean distance of a value from the line, over a block of steps, lies between two points.
    chance = np.diff(_below(forth, low + step * np.arange(-1, POINTS + 1))) / step
    worth = np.zeros((len(lastings), POINTS + blocks + 1))
    away = np.ones(worth.shape[1])  # the probability that the value has not occurred yet
    for block in range(blocks):
        first, last = np.floor([block * stride, (block + 1) * stride])
        if last == first:
            continue
        part = slice(block, block + len(chance))
        weights = np.array([lasting.between(first, last) for lasting in lastings])[:, None]
        missed = (1 - chance) ** (last - first)
        met = (1 - missed) / (last - first) * away[part] if caching else chance
        worth[:, part] += weights * met
        away[part] *= missed
    if slope > 0:
        return low, worth
    return -(low + step * (worth.shape[1] - 1)), worth[:, ::-1]


def _below(noise: Discrete, x: ArrayLike) -> Floats:
    """Return the probability of less than x, with the mass of a cell spread over its width."""
    edges = np.arange(noise.lowest, noise.highest + 2) - 0.5
    return np.interp(np.asarray(x), edges, np.concatenate([[0.0], np.cumsum(noise.mass)]))


def _reach(lasting: Lasting) -> float:
    """Return the number of steps after which L is negligible."""
    if lasting.kind == "exp":
        return lasting.scale * 20.0
    return float(lasting.scale) if lasting.kind == "fixed" else np.inf
