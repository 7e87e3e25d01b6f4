"""Models whose values do not depend on earlier ones: stationary ones, and a trend.

- `Stationary`: independent values of one unchanging distribution. In section 7.2 of the source the
  best row to evict has the least likely value.
- `Trend`: a straight line with bounded, independent noise around it, x_t = round(a + b t) + noise
  (sections 7.3 and 7.4). There the trend is a whole number at every step; here a fitted line is
  rounded.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..kernel.options import check_word
from ..numeric import Estimate, Floats, Ints, check_number, minimum
from . import cells
from .cells import Discrete, to_cells, whole_numbers
from .model import Fit, Past, Regression, fitted, now, regress, steps, values_between

LEAST = 10  # values to fit a line to


class Stationary:
    """Values and their probabilities; the values may lie far apart.

    >>> Stationary([10, 99], [0.25, 0.75]).prob([10, 11, 99], 1, history=[]).tolist()
    [0.25, 0.0, 0.75]
    """

    family: ClassVar[str] = "stationary"

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        given = cells.numbers("values", values)
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

    def prob(self, v: ArrayLike, d: ArrayLike, history: Past) -> Floats:
        """Return the probability of v, which depends neither on d nor on the history."""
        end = now(history)
        value = cells.wanted(v)
        place = np.minimum(np.searchsorted(self.values, value), len(self.values) - 1)
        p = np.where(self.values[place] == value, self.probabilities[place], 0.0)
        shape = np.broadcast_shapes(p.shape, steps(d).shape, np.shape(end.time))
        return np.broadcast_to(p, shape).copy()[()]

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return all values."""
        return self.values

    @classmethod
    def fit(cls, data: ArrayLike, kind: str = "empirical") -> Fit:
        """Count the values, or find the best normal or uniform distribution.

        >>> Stationary.fit([1, 2, 2, 2]).model.probabilities.tolist()
        [0.25, 0.75]
        """
        check_word("kind", kind, COUNTED)
        values = whole_numbers(data)
        model, free = COUNTED[kind](values)
        return fitted(model, values, free, kind)


Fitted = tuple[Stationary, int]  # and how many parameters are free


def _count(data: Ints) -> Fitted:
    different, count = np.unique(data, return_counts=True)
    return Stationary(different, count / len(data)), len(different) - 1


def _normal_values(cell: Ints) -> Fitted:
    mean = float(cell.mean())
    sd = float(np.sqrt(max(cell.var() - 1 / 12, 0.0)))  # Sheppard: rounding added a twelfth
    if not sd:
        raise BadInput("data must vary by more than 1 to look normal; use kind='empirical'")
    # At least as wide as the data: an outlier must have a probability.
    low = min(int(np.floor(mean - 9 * sd)), int(cell.min()))
    high = max(int(np.ceil(mean + 9 * sd)), int(cell.max()))
    cells.check_span("data", low, high)
    mass = cells.cell_mass(np.arange(low, high + 1), mean, sd)
    return Stationary(np.arange(low, high + 1), mass / mass.sum()), 2


def _uniform_values(cell: Ints) -> Fitted:
    low, high = int(cell.min()), int(cell.max())
    cells.check_span("data", low, high)
    values = np.arange(low, high + 1)
    return Stationary(values, np.full(len(values), 1 / len(values))), 2


COUNTED = {"empirical": _count, "normal": _normal_values, "uniform": _uniform_values}


class Trend:
    """A line and the noise around it.

    >>> tower = Trend(slope=1, intercept=0, noise=Discrete.normal(sd=2, bound=15))
    >>> tower.prob(8, d=[1, 5], history=[0, 1, 2, 3]).round(3).tolist()  # on average 4 and 8
    [0.028, 0.197]
    """

    family: ClassVar[str] = "trend"

    def __init__(self, slope: float, intercept: float, noise: Discrete) -> None:
        self.slope = check_number("slope", slope)
        self.intercept = check_number("intercept", intercept)
        cells.check_zero_mean(noise)
        self.noise = noise

    def __repr__(self) -> str:
        line = f"slope={self.slope:g}, intercept={self.intercept:g}"
        return f"Trend({line}, noise={self.noise!r})"

    def centre(self, time: ArrayLike) -> Ints:
        """Return the cell on the line at a time."""
        on_line = self.intercept + self.slope * np.asarray(time)
        return np.floor(on_line + 0.5).astype(np.int64)  # halves are rounded up

    def prob(self, v: ArrayLike, d: ArrayLike, history: Past) -> Floats:
        """Return the probability that the noise is the distance from the line at t + d to v."""
        cell, on = to_cells(v)
        p = self.noise.of(cell - self.centre(now(history).time + steps(d)))
        return np.where(on, p, 0.0)[()]

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return the values from the lowest to the highest that the noise can reach.

        >>> Trend(1, 0, Discrete.uniform(1)).support(2, history=[0])
        array([0, 1, 2, 3])
        """
        centre = self.centre(now(history).time + 1 + np.arange(most))
        noise = self.noise
        return values_between(centre.min() + noise.lowest, centre.max() + noise.highest)

    @classmethod
    def fit(cls, data: ArrayLike, noise: str = "normal") -> Fit:
        """Fit a line and the noise around it.

        The line is that of least squares; for uniform noise, the one with the smallest largest
        distance, which is the likeliest. A line of whole numbers is preferred if it is as likely.
        The errors of the line are those of least squares; for uniform noise they are too large.

        >>> noise = np.random.default_rng(1).integers(-3, 4, 500)
        >>> fit = Trend.fit(np.arange(500) + noise, "uniform")
        >>> fit.model.slope, fit.model.intercept, fit.model.noise.highest
        (1.0, 0.0, 3)
        """
        check_word("noise", noise, NOISES)
        values = whole_numbers(data, LEAST)
        time = np.arange(len(values))
        line = regress(values.astype(np.float64), np.ones(len(time)), time)
        fits = [_around(values, each, line, noise) for each in _lines(values, line, noise)]
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


def _around(values: Ints, line: tuple[float, float], errors: Regression, kind: str) -> Fit:
    """Return the fit of the noise around a line."""
    start, slope = line
    bare = Trend(slope, start, Discrete.uniform(0))
    left = values - bare.centre(np.arange(len(values)))
    cells.check_span("the residuals of the line", left.min(), left.max())
    noise, free = NOISES[kind](left)
    added = Estimate(slope, float(errors.error[1]))
    return fitted(Trend(slope, start, noise), values, free + 2, f"{kind} noise", added)


FittedNoise = tuple[Discrete, int]


def _normal(left: Ints) -> FittedNoise:
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
    return Discrete.normal(float(np.exp(minimum(cost, rough - 1, rough + 1))), bound), 2


def _uniform(left: Ints) -> FittedNoise:
    return Discrete.uniform(int(np.abs(left).max())), 1


def _empirical(left: Ints) -> FittedNoise:
    noise = Discrete.empirical(left).centred()
    different = int((noise.mass > 0).sum())
    # The masses sum to one and their mean is zero: two fewer are free.
    return noise, max(different - 2, 0)


NOISES = {"normal": _normal, "uniform": _uniform, "empirical": _empirical}
