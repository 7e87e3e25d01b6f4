"""First-order autoregression: x_t = phi0 + phi1 x_{t-1} + N(0, sigma), read to the nearest unit.

The value itself is a real number; its key is the nearest multiple of the unit. Only keys of the
past are known, so the last key stands for the last value. This is exact to half a unit, which is
little if sigma is a few units.

`Autoregression` holds what an `Ar1`, which returns to a constant mean, shares with a `Seasonal`,
which returns to a season.

Source: section 8 (REAL) of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005).
"""

from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from ..numeric import Estimate, Floats
from .cells import cell_mass, finite, on_grid, positive, to_cells, to_values
from .fitting import Fit, fitted, regress
from .model import History, last, now, steps

LEAST = 10  # values to fit three parameters to


class Autoregression:
    """x_t = season(t) + r_t, where r_t = phi r_{t-1} + N(0, sigma)."""

    family: ClassVar[str]
    independent: ClassVar[bool] = False
    timeless: ClassVar[bool]

    def __init__(self, mean: float, phi: float, sigma: float, unit: float) -> None:
        self.mean = mean
        self.phi = phi
        self.sigma = positive("sigma", sigma)
        self.unit = positive("unit", unit)

    def season(self, time: Any) -> Floats:
        """Return the mean value at a time."""
        return np.full(np.shape(time), self.mean)[()]

    @property
    def sd(self) -> float:
        """The standard deviation of a value around the season, without a history."""
        return float(self.sigma / np.sqrt(1 - self.phi**2))

    def sd_after(self, ahead: Any) -> Floats:
        """Return the standard deviation of the value `ahead` steps later."""
        return self.sigma * np.sqrt((1 - self.phi ** (2 * ahead)) / (1 - self.phi**2))

    def mean_after(self, ahead: Any, history: History) -> Floats:
        """Return the mean of the value `ahead` steps later."""
        end = last(history, self.family)
        off = np.asarray(end.value) - self.season(end.time)
        return self.season(end.time + ahead) + self.phi**ahead * off

    def prob(self, v: Any, d: Any, history: History) -> Floats:
        """Return the mass around v of the normal that x_{t+d} follows, given the last value."""
        cell, on = to_cells(v, self.unit)
        ahead = steps(d)
        mean = self.mean_after(ahead, history)
        p = cell_mass(cell, mean / self.unit, self.sd_after(ahead) / self.unit)
        return np.where(on, p, 0.0)[()]

    def sample(self, length: int, seed: int, history: History = ()) -> np.ndarray:
        """Return the continuation of the stream; without a history, it starts from the long run."""
        at_least("length", length, 0)
        end = now(history)
        push = self.sigma * source(seed).standard_normal(length)
        off = 0.0
        if end.value is None:
            push[:1] /= np.sqrt(1 - self.phi**2)
        else:
            off = float(end.value - self.season(end.time))
        course = accumulate(push.tolist(), lambda x, by: self.phi * x + by, initial=off)
        x = self.season(end.time + 1 + np.arange(length)) + np.array(list(course)[1:])
        return to_values(np.rint(x / self.unit), self.unit)


class Ar1(Autoregression):
    """Values that return to a mean, part of the way at each step.

    >>> temperature = Ar1(phi0=5.59, phi1=0.72, sigma=4.23, unit=0.1)
    >>> round(temperature.mean, 2), round(temperature.sd, 2)
    (19.96, 6.1)
    >>> temperature.prob([20.7, 20.75], d=1, history=[21.0]).round(4).tolist()
    [0.0094, 0.0]
    """

    family: ClassVar[str] = "ar1"
    timeless: ClassVar[bool] = True

    def __init__(self, phi0: float, phi1: float, sigma: float, unit: float = 1) -> None:
        self.phi0, self.phi1 = finite("phi0", phi0), check_phi("phi1", phi1)
        super().__init__(self.phi0 / (1 - self.phi1), self.phi1, sigma, unit)

    def __repr__(self) -> str:
        phi = f"phi0={self.phi0:g}, phi1={self.phi1:g}"
        return f"Ar1({phi}, sigma={self.sigma:g}, unit={self.unit:g})"

    @classmethod
    def fit(cls, data: ArrayLike, unit: float | None = None) -> Fit:
        """Regress each value on the one before: the likeliest parameters, given the first value.

        >>> fit = Ar1.fit(Ar1(2, 0.8, 5).sample(3000, seed=1))
        >>> {name: round(value, 1) for name, (value, _) in fit.parameters.items()}
        {'phi0': 2.0, 'phi1': 0.8, 'sigma': 5.0}
        """
        grid = on_grid(data, unit, LEAST)
        x = grid.values.astype(np.float64)
        if (x == x[0]).all():
            raise BadInput(f"data must vary, got {grid.values[0]} every time")
        line = regress(x[1:], np.ones(len(x) - 1), x[:-1])
        phi0, phi1 = line.coefficient.tolist()
        sigma = sigma_of(line.variance, grid.unit, len(x) - 1)
        model = cls(phi0, check_phi("phi1 of the data", phi1), sigma.value, grid.unit)
        errors = line.error.tolist()
        parameters = {"phi0": Estimate(phi0, errors[0]), "phi1": Estimate(phi1, errors[1])}
        return fitted(model, parameters | {"sigma": sigma}, grid, 3)


def check_phi(name: str, phi: float) -> float:
    """Return phi if values return to their mean with it."""
    if not abs(finite(name, phi)) < 1:
        raise BadInput(f"{name} must lie between -1 and 1, got {phi:.6g}; at 1 it is a Walk")
    return float(phi)


def sigma_of(variance: float, unit: float, count: int) -> Estimate:
    """Return sigma from the residual variance of a regression of `count` rounded values."""
    sigma = float(np.sqrt(max(variance - unit**2 / 12, 0.0)))  # Sheppard's correction
    if sigma < unit / 4:
        raise BadInput(
            f"data must leave a sigma of at least a quarter of the unit {unit:g},"
            f" got {sigma:.3g}; pass a finer unit= or use a Trend"
        )
    return Estimate(sigma, float(sigma / np.sqrt(2 * count)))
