"""H beside a line in wide noise, worked out on a coarse grid.

Where the noise spans tens of thousands of cells and the line creeps, neighbours are worth nearly
the same and so are a value's chances from step to step. So cells are taken together, as are the
steps that the line needs for one point of the grid. What is left to do does not depend on how wide
the noise is, nor on how far ahead one looks.
"""

import numpy as np
from numpy.typing import ArrayLike

from .cells import Floats
from .lasting import Lasting
from .noise import Discrete

POINTS = 1024  # into which the noise is divided
AHEAD = 2  # times the noise that one looks ahead at most: the line has passed by then


def grid_step(noise: Discrete) -> float:
    """Return how many cells lie between two points."""
    return len(noise.mass) / POINTS


def beside(
    noise: Discrete, slope: float, lastings: list[Lasting], caching: bool
) -> tuple[float, Floats]:
    """Return the distance of the first point from the line, and H at the points: layers, points.

    >>> low, worth = beside(Discrete.normal(1000, 3000), 0.1, [Lasting("exp", 1e8)], False)
    >>> worth.shape, round(float(worth.max()), 1)  # a value is passed by once, 10 steps a cell
    ((1, 3073), 10.0)
    """
    forth = noise if slope > 0 else Discrete(-noise.highest, noise.mass[::-1])
    step = grid_step(noise)
    stride = step / abs(slope)  # steps until the line has come one point further
    reach = max(_reach(lasting) for lasting in lastings)
    blocks = int(min(np.ceil(reach / stride), AHEAD * POINTS))
    low = float(forth.lowest) - 0.5
    # Between two points lies where a value is, from the line, on average over a block of steps.
    chance = np.diff(_below(forth, low + step * np.arange(-1, POINTS + 1))) / step
    worth = np.zeros((len(lastings), POINTS + blocks + 1))
    away = np.ones(worth.shape[1])  # the chance that the value has not come yet
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
    """Return the chance of less than x, with the mass of a cell spread over its width."""
    edges = np.arange(noise.lowest, noise.highest + 2) - 0.5
    return np.interp(np.asarray(x), edges, np.concatenate([[0.0], np.cumsum(noise.mass)]))


def _reach(lasting: Lasting) -> float:
    """Return after how many steps nothing counts any more."""
    if lasting.kind == "exp":
        return lasting.scale * 20.0
    return float(lasting.scale) if lasting.kind in ("fixed", "given") else np.inf
