"""A season and an autoregression around it: beyond the papers, for temperatures and loads.

x_t = season(t) + r_t, where season(t) = mean + sum over h of a_h cos(2 pi h t / period)
+ b_h sin(2 pi h t / period), and r_t = phi r_{t-1} + N(0, sigma). Keys are the nearest multiples
of the unit. Step 0 is the first value of the data that the model was fitted to.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from .ar1 import check_phi, spread, swing, unrounded
from .cells import Floats, Grid, check_unit, finite, on_grid, positive, to_cells, to_values
from .counts import steps, whole
from .history import Now, last, now
from .least_squares import Regression, regress
from .normal import cell_mass
from .period import find_period
from .record import Estimate, Fit, log_likelihood

LEAST = 20  # values
MOST = 8  # harmonics that are tried


class Seasonal:
    """Harmonics of a period with an AR(1) around them.

    >>> year = Seasonal(365.25, mean=20, cosines=[6], sines=[0], phi=0.6, sigma=4, unit=0.1)
    >>> year.season([0, 365.25 / 2]).round(6).tolist()
    [26.0, 14.0]
    >>> year.prob(26, d=1, history=[26.0]).round(4)
    np.float64(0.01)
    """

    family: ClassVar[str] = "seasonal"
    independent: ClassVar[bool] = False
    timeless: ClassVar[bool] = False

    def __init__(
        self,
        period: float,
        mean: float,
        cosines: ArrayLike,
        sines: ArrayLike,
        phi: float,
        sigma: float,
        unit: float = 1,
    ) -> None:
        self.period = check_period(period)
        self.mean = finite("mean", mean)
        self.cosines = np.asarray(cosines, dtype=np.float64)
        self.sines = np.asarray(sines, dtype=np.float64)
        if self.cosines.ndim != 1 or self.cosines.shape != self.sines.shape:
            raise BadInput(
                f"cosines and sines must be lists of one length, got shapes"
                f" {self.cosines.shape} and {self.sines.shape}"
            )
        self.phi = check_phi("phi", phi)
        self.sigma = positive("sigma", sigma)
        self.unit = check_unit(unit)

    def __repr__(self) -> str:
        waves = f"cosines={self.cosines.round(4).tolist()}, sines={self.sines.round(4).tolist()}"
        around = f"phi={self.phi:g}, sigma={self.sigma:g}, unit={self.unit:g}"
        return f"Seasonal(period={self.period:g}, mean={self.mean:g}, {waves}, {around})"

    def season(self, time: Any) -> Floats:
        """Return the mean value at a time."""
        waves = _waves(np.asarray(time), self.period, len(self.cosines))
        return self.mean + waves[0] @ self.cosines + waves[1] @ self.sines

    def prob(self, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
        """Return the mass around v of the normal that x_{t+d} follows, given time and value."""
        cell, on = to_cells(v, self.unit)
        end, ahead = last(history, self.family), steps(d)
        off = np.asarray(end.value) - self.season(end.time)
        mean = self.season(end.time + ahead) + self.phi**ahead * off
        p = cell_mass(cell, mean / self.unit, spread(self.phi, self.sigma, ahead) / self.unit)
        return np.where(on, p, 0.0)[()]

    def sample(self, length: int, seed: int, history: ArrayLike | Now = ()) -> np.ndarray:
        """Return how the stream goes on; without a history it starts at step 0."""
        at_least("length", length, 0)
        end = now(history)
        off = None if end.value is None else end.value - float(self.season(end.time))
        around = swing(self.phi, self.sigma, length, source(seed), off)
        x = self.season(end.time + 1 + np.arange(length)) + around
        return to_values(np.rint(x / self.unit), self.unit)

    @classmethod
    def fit(
        cls,
        data: ArrayLike,
        period: float | None = None,
        harmonics: int | None = None,
        unit: float | None = None,
    ) -> Fit:
        """Regress each value on the one before and on the waves at its time.

        Without a period, one is looked for by periodogram. Without a number of harmonics, the one
        with the lowest BIC is taken.

        >>> day = Seasonal(24, mean=100, cosines=[30], sines=[10], phi=0.5, sigma=5)
        >>> fit = Seasonal.fit(day.sample(1000, seed=1), period=24)
        >>> len(fit.model.cosines), round(fit.model.phi, 1)
        (1, 0.5)
        """
        grid = on_grid(data, unit, LEAST)
        known = period is not None
        cycle = check_period(period) if period is not None else find_period(grid.values)
        if cycle > len(grid.values) / 2:
            raise BadInput(
                f"period must fit twice into the data, {len(grid.values)} values, got {cycle:g}"
            )
        if harmonics is None:
            counts = range(1, _most_harmonics(cycle, len(grid.values)) + 1)
        else:
            counts = range(whole("harmonics", harmonics, 1), harmonics + 1)
            _check_harmonics(cycle, harmonics)
        fits = [_fit_harmonics(grid, cycle, count, known) for count in counts]
        return min(fits, key=lambda fit: fit.bic)


def check_period(period: float) -> float:
    """Return the period if it is one that steps can show."""
    if not positive("period", period) > 2:
        raise BadInput(f"period must be above 2 steps, got {period!r}")
    return float(period)


def _check_harmonics(period: float, harmonics: int) -> None:
    if harmonics >= period / 2:  # faster waves look like slower ones at whole steps
        raise BadInput(
            f"harmonics must be below half the period of {period:g} steps, got {harmonics}"
        )


def _most_harmonics(period: float, length: int) -> int:
    return max(1, min(MOST, int(np.ceil(period / 2)) - 1, (length - 4) // 4))


def _waves(time: np.ndarray, period: float, harmonics: int) -> tuple[Floats, Floats]:
    """Return the cosines and sines at a time, one harmonic a column."""
    angle = 2 * np.pi / period * time[..., None] * np.arange(1, harmonics + 1)
    return np.cos(angle), np.sin(angle)


def _fit_harmonics(grid: Grid, period: float, harmonics: int, known: bool) -> Fit:
    x = grid.values.astype(np.float64)
    line = _regress(x, period, harmonics)
    phi = check_phi("phi of the data", float(line.coefficient[1]))
    sigma = unrounded(line.variance, grid.unit)
    plain = _unfold(line.coefficient, period)
    error = _unfolded_error(line, period)
    cosines, sines = plain[2 : 2 + harmonics], plain[2 + harmonics :]
    model = Seasonal(period, plain[0], cosines, sines, phi, sigma, grid.unit)
    names = ["mean", "phi", *(f"cos{h}" for h in range(1, harmonics + 1))]
    names += [f"sin{h}" for h in range(1, harmonics + 1)]
    parameters = {n: Estimate(float(a), float(e)) for n, a, e in zip(names, plain, error)}
    parameters["sigma"] = Estimate(sigma, float(sigma / np.sqrt(2 * (len(x) - 1))))
    parameters["period"] = Estimate(period)
    free = 3 + 2 * harmonics + (0 if known else 1)
    likely = log_likelihood(model, grid.values)
    plural = "s" if harmonics > 1 else ""
    detail = f"period {period:.6g}, {harmonics} harmonic{plural}"
    return Fit(model, parameters, likely, free, len(x) - 1, detail)


def _regress(x: Floats, period: float, harmonics: int) -> Regression:
    """Regress x_t on a constant, x_{t-1}, and the waves at t."""
    cosine, sine = _waves(np.arange(1, len(x)), period, harmonics)
    return regress(x[1:], np.ones(len(x) - 1), x[:-1], *cosine.T, *sine.T)


def _unfold(coefficient: Floats, period: float) -> Floats:
    """Return mean, phi, cosines and sines of the season from those of the regression.

    The regression sees season(t) - phi season(t-1). With the wave a cos + b sin as the real part
    of (a - ib) exp(i w t), that is a factor of 1 - phi exp(-i w), to be divided out.
    """
    phi, half = coefficient[1], (len(coefficient) - 2) // 2
    w = 2 * np.pi / period * np.arange(1, half + 1)
    wave = coefficient[2 : 2 + half] - 1j * coefficient[2 + half :]
    wave = wave / (1 - phi * np.exp(-1j * w))
    return np.concatenate([[coefficient[0] / (1 - phi), phi], wave.real, -wave.imag])


def _unfolded_error(line: Regression, period: float) -> Floats:
    """Return the standard errors after `_unfold`, to first order (the delta method)."""
    at, slope = line.coefficient, []
    for place, error in enumerate(line.error):
        nudge = np.zeros(len(at))
        nudge[place] = max(error, 1e-12) * 1e-3
        slope.append((_unfold(at + nudge, period) - _unfold(at - nudge, period)) / nudge[place] / 2)
    turn = np.array(slope).T
    return np.sqrt(np.diag(turn @ line.covariance @ turn.T))
