"""Independent values of one unchanging distribution.

Source: section 7.2 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005), where the best row to evict has the least likely value.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from ..numeric import Estimate, Floats
from .cells import Grid, cell_mass, check_span, numbers, on_grid, to_values, wanted
from .fitting import Fit, check_kind, fitted
from .model import History, now, steps
from .noise import Discrete


class Stationary:
    """Values and their probabilities; the values may lie far apart.

    >>> Stationary([10, 99], [0.25, 0.75]).prob([10, 11, 99], 1, history=[]).tolist()
    [0.25, 0.0, 0.75]
    """

    family: ClassVar[str] = "stationary"
    independent: ClassVar[bool] = True
    timeless: ClassVar[bool] = True

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        given = numbers("values", values)
        order = np.argsort(given, kind="stable")
        self.values = given[order]
        again = self.values[1:] == self.values[:-1]
        if again.any():
            raise BadInput(f"values must differ, got {self.values[np.argmax(again)]} twice")
        mass = Discrete(0, np.asarray(probabilities)).mass
        if len(mass) != len(given):
            raise BadInput(f"probabilities must be {len(given)}, one per value, got {len(mass)}")
        self.probabilities = mass[order]

    def __repr__(self) -> str:
        return f"Stationary({len(self.values)} values)"

    def prob(self, v: Any, d: Any, history: History) -> Floats:
        """Return the probability of v, which depends neither on d nor on the history."""
        end = now(history)
        value = wanted(v)
        place = np.minimum(np.searchsorted(self.values, value), len(self.values) - 1)
        p = np.where(self.values[place] == value, self.probabilities[place], 0.0)
        shape = np.broadcast_shapes(p.shape, steps(d).shape, np.shape(end.time))
        return np.broadcast_to(p, shape).copy()[()]

    def sample(self, length: int, seed: int, history: History = ()) -> np.ndarray:
        """Return independent draws."""
        at_least("length", length, 0)
        now(history)
        place = Discrete(0, self.probabilities).draw(source(seed), length)
        return self.values[place]

    @classmethod
    def fit(cls, data: ArrayLike, kind: str = "empirical", unit: float | None = None) -> Fit:
        """Count the values, or find the best normal or uniform distribution.

        >>> Stationary.fit([1, 2, 2, 2]).model.probabilities.tolist()
        [0.25, 0.75]
        """
        check_kind("kind", kind, KINDS)
        grid = on_grid(data, unit)
        model, parameters, free = KINDS[kind](grid)
        return fitted(model, parameters, grid, free, kind)


Fitted = tuple[Stationary, dict[str, Estimate], int]


def _count(grid: Grid) -> Fitted:
    different, count = np.unique(grid.values, return_counts=True)
    return Stationary(different, count / len(grid.values)), {}, len(different) - 1


def _normal(grid: Grid) -> Fitted:
    cell, unit, n = grid.cell, grid.unit, len(grid.cell)
    mean = float(cell.mean())
    sd = float(np.sqrt(max(cell.var() - 1 / 12, 0.0)))  # Sheppard: rounding added a twelfth
    if not sd:
        raise BadInput("data must vary by more than a unit to look normal; use kind='empirical'")
    # At least as wide as the data: an outlier must have a probability.
    low = min(int(np.floor(mean - 9 * sd)), int(cell.min()))
    high = max(int(np.ceil(mean + 9 * sd)), int(cell.max()))
    check_span("data", low, high)
    mass = cell_mass(np.arange(low, high + 1), mean, sd)
    model = Stationary(to_values(np.arange(low, high + 1), unit), mass / mass.sum())
    spread = Estimate(sd, sd / np.sqrt(2 * n)).times(unit)
    return model, {"mean": Estimate(mean, sd / np.sqrt(n)).times(unit), "sd": spread}, 2


def _uniform(grid: Grid) -> Fitted:
    low, high = int(grid.cell.min()), int(grid.cell.max())
    check_span("data", low, high)
    values = to_values(np.arange(low, high + 1), grid.unit)
    model = Stationary(values, np.full(len(values), 1 / len(values)))
    return model, {"lowest": Estimate(values[0]), "highest": Estimate(values[-1])}, 2


KINDS = {"empirical": _count, "normal": _normal, "uniform": _uniform}
