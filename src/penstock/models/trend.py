"""A straight line with bounded, independent noise around it: x_t = round(a + b t) + noise.

Source: sections 7.3 and 7.4 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005). There the trend is a whole number at every step; here a fitted line is rounded.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from ..numeric import Estimate, Floats, minimum
from .cells import Grid, Ints, check_span, finite, on_grid, positive, to_cells, to_values
from .fitting import Fit, Regression, check_kind, fitted, regress
from .model import History, now, steps
from .noise import Discrete, check_zero_mean

LEAST = 10  # values to fit a line to


class Trend:
    """A line and the noise around it, in units.

    >>> tower = Trend(slope=1, intercept=0, noise=Discrete.normal(sd=2, bound=15))
    >>> tower.prob(8, d=[1, 5], history=[0, 1, 2, 3]).round(3).tolist()  # on average 4 and 8
    [0.028, 0.197]
    """

    family: ClassVar[str] = "trend"
    independent: ClassVar[bool] = True
    timeless: ClassVar[bool] = False

    def __init__(self, slope: float, intercept: float, noise: Discrete, unit: float = 1) -> None:
        self.slope = finite("slope", slope)
        self.intercept = finite("intercept", intercept)
        check_zero_mean(noise)
        self.noise = noise
        self.unit = positive("unit", unit)

    def __repr__(self) -> str:
        line = f"slope={self.slope:g}, intercept={self.intercept:g}"
        return f"Trend({line}, noise={self.noise!r}, unit={self.unit:g})"

    def centre(self, time: Any) -> Ints:
        """Return the cell on the line at a time."""
        on_line = (self.intercept + self.slope * np.asarray(time)) / self.unit
        return np.floor(on_line + 0.5).astype(np.int64)  # halves are rounded up

    def prob(self, v: Any, d: Any, history: History) -> Floats:
        """Return the probability that the noise is the distance from the line at t + d to v."""
        cell, on = to_cells(v, self.unit)
        p = self.noise.of(cell - self.centre(now(history).time + steps(d)))
        return np.where(on, p, 0.0)[()]

    def sample(self, length: int, seed: int, history: History = ()) -> np.ndarray:
        """Return the line from the step after the history on, with noise."""
        at_least("length", length, 0)
        time = now(history).time + 1 + np.arange(length)
        return to_values(self.centre(time) + self.noise.draw(source(seed), length), self.unit)

    @classmethod
    def fit(cls, data: ArrayLike, noise: str = "normal", unit: float | None = None) -> Fit:
        """Fit a line and the noise around it.

        The line is that of least squares; for uniform noise, the one with the smallest largest
        distance, which is the likeliest. A line of whole numbers is preferred if it is as likely.
        The errors of the line are those of least squares; for uniform noise they are too large.

        >>> fit = Trend.fit(Trend(1, 0, Discrete.uniform(3)).sample(500, seed=1), "uniform")
        >>> fit.model.slope, fit.model.intercept, fit.model.noise.highest
        (1.0, 0.0, 3)
        """
        check_kind("noise", noise, KINDS)
        grid = on_grid(data, unit, LEAST)
        time = np.arange(len(grid.cell))
        line = regress(grid.cell.astype(np.float64), np.ones(len(time)), time)
        fits = [_around(grid, each, line, noise) for each in _lines(grid.cell, line, noise)]
        return max(fits, key=lambda fit: fit.log_likelihood)  # of equals the simplest


def _lines(cell: Ints, line: Regression, kind: str) -> list[tuple[float, float]]:
    """Return (intercept, slope), in cells, of the lines to try: the simplest first."""
    start, slope = line.coefficient
    if kind == "uniform":
        start, slope = _narrowest(line)
    flat = cell - round(slope) * np.arange(len(cell))  # the residual of a whole slope
    middle = (flat.min() + flat.max()) / 2 if kind == "uniform" else flat.mean()
    return [(round(middle), round(slope)), (middle, round(slope)), (start, slope)]


def _narrowest(line: Regression) -> tuple[float, float]:
    """Return the line with the smallest largest distance from the data.

    It is found for the residuals of least squares, with time scaled to -1 .. 1. The height of the
    strip that contains all data is a convex function of its tilt, and a tilt of more than twice the
    largest residual makes it higher than no tilt.
    """
    left, count = line.residual, len(line.residual)
    scale = max(float(np.abs(left).max()), 1e-12)
    time = np.linspace(-1, 1, count)
    tilt = minimum(lambda tilt: float(np.ptp(left - tilt * time)), -2 * scale, 2 * scale, 1e-10)
    above = left - tilt * time
    middle = (above.max() + above.min()) / 2
    slope = 2 * tilt / (count - 1)
    return line.coefficient[0] + middle - tilt, line.coefficient[1] + slope


def _around(grid: Grid, line: tuple[float, float], errors: Regression, kind: str) -> Fit:
    """Return the fit of the noise around a line."""
    unit = grid.unit
    start, slope = line[0] * unit, line[1] * unit
    bare = Trend(slope, start, Discrete.uniform(0), unit)
    left = grid.cell - bare.centre(np.arange(len(grid.cell)))
    check_span("the residuals of the line", left.min(), left.max())
    noise, parameters, free = KINDS[kind](left)
    model = Trend(slope, start, noise, unit)
    parameters = {name: each.times(unit) for name, each in parameters.items()}
    parameters["intercept"] = Estimate(start, float(errors.error[0]) * unit)
    parameters["slope"] = Estimate(slope, float(errors.error[1]) * unit)
    return fitted(model, parameters, grid, free + 2, f"{kind} noise")


Found = tuple[Discrete, dict[str, Estimate], int]


def _normal(left: Ints) -> Found:
    """Return the likeliest bounded normal: the bound is that of the data, the sd is searched."""
    bound = int(np.abs(left).max())
    if bound == 0:
        raise BadInput("data must lie off the line to have normal noise; use noise='uniform'")
    count = np.bincount(left + bound, minlength=2 * bound + 1)

    def cost(log_sd: float) -> float:
        mass = Discrete.normal(float(np.exp(log_sd)), bound).mass
        with np.errstate(divide="ignore"):
            return -float((count * np.where(count > 0, np.log(mass), 0.0)).sum())

    rough = float(np.log(max(left.std(), 0.3)))
    sd = float(np.exp(minimum(cost, rough - 1, rough + 1)))
    error = sd / np.sqrt(2 * len(left))
    parameters = {"sd": Estimate(sd, error), "bound": Estimate(bound)}
    return Discrete.normal(sd, bound), parameters, 2


def _uniform(left: Ints) -> Found:
    bound = int(np.abs(left).max())
    return Discrete.uniform(bound), {"bound": Estimate(bound)}, 1


def _empirical(left: Ints) -> Found:
    noise = Discrete.empirical(left).centred()
    different = int((noise.mass > 0).sum())
    # The masses sum to one and their mean is zero: two fewer are free.
    return noise, {"sd": Estimate(noise.sd)}, max(different - 2, 0)


KINDS = {"normal": _normal, "uniform": _uniform, "empirical": _empirical}
