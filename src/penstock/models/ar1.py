"""First-order autoregression: x_t = phi0 + phi1 x_{t-1} + N(0, sigma), read to the nearest unit.

The value itself is a real number; its key is the nearest multiple of the unit. What is seen of
the past are keys, so the last key stands for the last value: right to half a unit, which is
little wherever sigma is a few units.

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
from .cells import Floats, check_unit, finite, on_grid, positive, to_cells, to_values
from .counts import steps
from .history import Now, last, now
from .least_squares import regress
from .normal import cell_mass
from .record import Estimate, Fit, log_likelihood

LEAST = 10  # values to fit three parameters to


class Ar1:
    """Values that return to a mean, a part of the way at each step.

    >>> temperature = Ar1(phi0=5.59, phi1=0.72, sigma=4.23, unit=0.1)
    >>> round(temperature.mean, 2), round(temperature.sd, 2)
    (19.96, 6.1)
    >>> temperature.prob([20.7, 20.75], d=1, history=[21.0]).round(4).tolist()
    [0.0094, 0.0]
    """

    family: ClassVar[str] = "ar1"
    independent: ClassVar[bool] = False
    timeless: ClassVar[bool] = True

    def __init__(self, phi0: float, phi1: float, sigma: float, unit: float = 1) -> None:
        self.phi0 = finite("phi0", phi0)
        self.phi1 = check_phi("phi1", phi1)
        self.sigma = positive("sigma", sigma)
        self.unit = check_unit(unit)

    def __repr__(self) -> str:
        return (
            f"Ar1(phi0={self.phi0:g}, phi1={self.phi1:g}, sigma={self.sigma:g}, unit={self.unit:g})"
        )

    @property
    def mean(self) -> float:
        """What the values return to."""
        return self.phi0 / (1 - self.phi1)

    @property
    def sd(self) -> float:
        """The standard deviation of a value without a history."""
        return float(self.sigma / np.sqrt(1 - self.phi1**2))

    def prob(self, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
        """Return the mass around v of the normal that x_{t+d} follows, given the last value."""
        cell, on = to_cells(v, self.unit)
        here = np.asarray(last(history, self.family).value)
        ahead = steps(d)
        mean = self.mean + self.phi1**ahead * (here - self.mean)
        p = cell_mass(cell, mean / self.unit, spread(self.phi1, self.sigma, ahead) / self.unit)
        return np.where(on, p, 0.0)[()]

    def sample(self, length: int, seed: int, history: ArrayLike | Now = ()) -> np.ndarray:
        """Return how the stream goes on; without a history it starts anywhere, as it would."""
        at_least("length", length, 0)
        here = now(history).value
        off = None if here is None else here - self.mean
        x = self.mean + swing(self.phi1, self.sigma, length, source(seed), off)
        return to_values(np.rint(x / self.unit), self.unit)

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
        phi0, phi1 = line.coefficient
        sigma = unrounded(line.variance, grid.unit)
        model = cls(phi0, check_phi("phi1 of the data", phi1), sigma, grid.unit)
        parameters = {
            "phi0": Estimate(float(phi0), float(line.error[0])),
            "phi1": Estimate(float(phi1), float(line.error[1])),
            "sigma": Estimate(sigma, float(sigma / np.sqrt(2 * (len(x) - 1)))),
        }
        return Fit(model, parameters, log_likelihood(model, grid.values), 3, len(x) - 1)


def check_phi(name: str, phi: float) -> float:
    """Return phi if values return to their mean under it."""
    if not abs(finite(name, phi)) < 1:
        raise BadInput(f"{name} must lie between -1 and 1, got {phi:.6g}; at 1 it is a Walk")
    return float(phi)


def spread(phi: float, sigma: float, ahead: np.ndarray) -> Floats:
    """Return the standard deviation of the value `ahead` steps later."""
    return sigma * np.sqrt((1 - phi ** (2 * ahead)) / (1 - phi**2))


def swing(
    phi: float, sigma: float, length: int, random: np.random.Generator, off: float | None
) -> Floats:
    """Return an autoregression around 0, after a value of `off`, or from the long run."""
    push = sigma * random.standard_normal(length)
    if off is None:
        push[:1] /= np.sqrt(1 - phi**2)
        off = 0.0
    course = accumulate(push.tolist(), lambda before, by: phi * before + by, initial=float(off))
    return np.array(list(course)[1:])


def unrounded(variance: float, unit: float) -> float:
    """Return sigma from the variance of what a regression of rounded values leaves."""
    sigma = np.sqrt(max(variance - unit**2 / 12, 0.0))  # Sheppard's correction
    if sigma < unit / 4:
        raise BadInput(
            f"data must leave a sigma of at least a quarter of the unit {unit:g},"
            f" got {sigma:.3g}; pass a finer unit= or use a Trend"
        )
    return float(sigma)
