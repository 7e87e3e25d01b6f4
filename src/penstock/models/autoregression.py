"""First-order autoregression, around a constant mean (`Ar1`) or around a season (`Seasonal`).

`Ar1` is x_t = phi0 + phi1 x_{t-1} + N(0, sigma), rounded. The value itself is a real number; its
key is the nearest whole number. Only keys of the past are known, so the last key stands for the
last value. This is exact to a half, which is little if sigma is more than a few. Source: section 8
(REAL) of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).

`Seasonal` goes beyond the papers, for temperatures and loads: x_t = season(t) + r_t, where
season(t) = mean + sum over h of a_h cos(2 pi h t / period) + b_h sin(2 pi h t / period), and
r_t = phi r_{t-1} + N(0, sigma). Step 0 is the first value of the data that the model was fitted to.

The period is found with a periodogram. That of an autoregression rises towards low frequencies, so
the AR(1) is removed first. Without a season the periodogram of the residual is flat, and each
ordinate divided by their mean is exponential; the largest must be too large for chance.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Estimate, Floats, Ints, check_number, minimum
from .cells import TAIL, cell_mass, to_cells, whole_numbers
from .model import Fit, Past, fitted, last, regress, steps, values_between

LEAST = 10  # values to fit three parameters to
SEASON_LEAST = 20  # values
MOST = 8  # harmonics that are tried
CHANCE = 1e-3  # that the largest ordinate of a stream without a season is accepted
CYCLES = 2  # fewest whole periods in the data
PAD = 4  # frequencies between those of the transform; a period seldom divides the data


class Autoregression:
    """x_t = season(t) + r_t, where r_t = phi r_{t-1} + N(0, sigma)."""

    family: ClassVar[str]

    def __init__(self, mean: float, phi: float, sigma: float) -> None:
        self.mean = mean
        self.phi = phi
        self.sigma = check_number("sigma", sigma, 0, above=True)

    def season(self, time: ArrayLike) -> Floats:
        """Return the mean value at a time."""
        return np.full(np.shape(time), self.mean)[()]

    @property
    def sd(self) -> float:
        """The standard deviation of a value around the season, without a history."""
        return float(self.sigma / np.sqrt(1 - self.phi**2))

    def sd_after(self, ahead: int | np.ndarray) -> Floats:
        """Return the standard deviation of the value `ahead` steps later."""
        return self.sigma * np.sqrt((1 - self.phi ** (2 * ahead)) / (1 - self.phi**2))

    def mean_after(self, ahead: int | np.ndarray, history: Past) -> Floats:
        """Return the mean of the value `ahead` steps later."""
        end = last(history, self.family)
        off = np.asarray(end.value) - self.season(end.time)
        return self.season(end.time + ahead) + self.phi**ahead * off

    def prob(self, v: ArrayLike, d: ArrayLike, history: Past) -> Floats:
        """Return the mass around v of the normal that x_{t+d} follows, given the last value."""
        cell, on = to_cells(v)
        ahead = steps(d)
        p = cell_mass(cell, self.mean_after(ahead, history), self.sd_after(ahead))
        return np.where(on, p, 0.0)[()]

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return the values within `TAIL` standard deviations of the mean."""
        ahead = np.arange(1, most + 1)
        mean, reach = self.mean_after(ahead, history), TAIL * self.sd_after(ahead)
        low, high = np.floor((mean - reach).min()), np.ceil((mean + reach).max())
        return values_between(int(low), int(high))


class Ar1(Autoregression):
    """Values that return to a mean, part of the way at each step.

    >>> temperature = Ar1(phi0=55.9, phi1=0.72, sigma=42.3)  # in tenths of a degree
    >>> round(temperature.mean, 1), round(temperature.sd, 1)
    (199.6, 61.0)
    >>> temperature.prob([207, 207.5], d=1, history=[210]).round(4).tolist()
    [0.0094, 0.0]
    """

    family: ClassVar[str] = "ar1"

    def __init__(self, phi0: float, phi1: float, sigma: float) -> None:
        self.phi0, self.phi1 = check_number("phi0", phi0), check_phi("phi1", phi1)
        super().__init__(self.phi0 / (1 - self.phi1), self.phi1, sigma)

    def __repr__(self) -> str:
        phi = f"phi0={self.phi0:g}, phi1={self.phi1:g}"
        return f"Ar1({phi}, sigma={self.sigma:g})"

    @classmethod
    def fit(cls, data: ArrayLike) -> Fit:
        """Regress each value on the one before: the likeliest parameters, given the first value.

        >>> data = [10.0]
        >>> for push in np.random.default_rng(1).normal(0, 5, 3000):
        ...     data.append(2 + 0.8 * data[-1] + push)
        >>> model = Ar1.fit(np.rint(data)).model
        >>> round(model.phi1, 1), round(model.sigma, 1)
        (0.8, 5.0)
        """
        values = whole_numbers(data, LEAST)
        x = values.astype(np.float64)
        if (x == x[0]).all():
            raise BadInput(f"data must vary, got {values[0]} every time")
        line = regress(x[1:], np.ones(len(x) - 1), x[:-1])
        phi0, phi1 = line.coefficient.tolist()
        sigma = sigma_of(line.variance)
        model = cls(phi0, check_phi("phi1 of the data", phi1), sigma)
        return fitted(model, values, 3, added=Estimate(phi1, float(line.error[1])))


def check_phi(name: str, phi: float) -> float:
    """Return phi if values return to their mean with it."""
    if not abs(check_number(name, phi)) < 1:
        raise BadInput(f"{name} must lie between -1 and 1, got {phi:.6g}; at 1 it is a Walk")
    return float(phi)


def sigma_of(variance: float) -> float:
    """Return sigma from the residual variance of a regression of rounded values."""
    sigma = float(np.sqrt(max(variance - 1 / 12, 0.0)))  # Sheppard's correction
    if sigma < 0.25:
        raise BadInput(
            f"data must leave a sigma of at least a quarter, got {sigma:.3g};"
            " take a finer unit, or use a Trend"
        )
    return sigma


class Seasonal(Autoregression):
    """Harmonics of a period with an AR(1) around them.

    >>> year = Seasonal(365.25, mean=200, cosines=[60], sines=[0], phi=0.6, sigma=40)
    >>> year.season([0, 365.25 / 2]).round(6).tolist()
    [260.0, 140.0]
    >>> year.prob(260, d=1, history=[260]).round(4)
    np.float64(0.01)
    """

    family: ClassVar[str] = "seasonal"

    def __init__(
        self,
        period: float,
        mean: float,
        cosines: ArrayLike,
        sines: ArrayLike,
        phi: float,
        sigma: float,
    ) -> None:
        self.period = check_period(period)
        self.cosines = np.asarray(cosines, dtype=np.float64)
        self.sines = np.asarray(sines, dtype=np.float64)
        if self.cosines.ndim != 1 or self.cosines.shape != self.sines.shape:
            raise BadInput(
                f"cosines and sines must be lists of one length, got shapes"
                f" {self.cosines.shape} and {self.sines.shape}"
            )
        super().__init__(check_number("mean", mean), check_phi("phi", phi), sigma)

    def __repr__(self) -> str:
        waves = f"cosines={self.cosines.round(4).tolist()}, sines={self.sines.round(4).tolist()}"
        around = f"phi={self.phi:g}, sigma={self.sigma:g}"
        return f"Seasonal(period={self.period:g}, mean={self.mean:g}, {waves}, {around})"

    def season(self, time: ArrayLike) -> Floats:
        """Return the mean value at a time."""
        cosine, sine = _waves(np.asarray(time), self.period, len(self.cosines))
        return self.mean + cosine @ self.cosines + sine @ self.sines

    @classmethod
    def fit(cls, data: ArrayLike, period: float | None = None) -> Fit:
        """Regress each value on the one before and on the waves at its time.

        Without a period, it is found with a periodogram. The number of harmonics is the one with
        the lowest BIC.

        >>> day = 100 + 30 * np.cos(2 * np.pi / 24 * np.arange(1000))
        >>> noise = np.random.default_rng(1).normal(0, 5, 1000)
        >>> fit = Seasonal.fit(np.rint(day + noise), period=24)
        >>> len(fit.model.cosines), round(abs(fit.model.phi), 1)
        (1, 0.0)
        """
        values = whole_numbers(data, SEASON_LEAST)
        known, length = period is not None, len(values)
        cycle = check_period(period) if period is not None else find_period(values)
        if cycle > length / 2:
            raise BadInput(f"period must fit twice into the data, {length} values, got {cycle:g}")
        # At whole steps, waves of half the period and less look like slower ones.
        most = max(1, min(MOST, int(np.ceil(cycle / 2)) - 1, (length - 4) // 4))
        fits = [fit_harmonics(values, cycle, count, known) for count in range(1, most + 1)]
        return min(fits, key=lambda fit: fit.bic)


def check_period(period: float) -> float:
    """Return the period if it is longer than two steps."""
    if not check_number("period", period, 0, above=True) > 2:
        raise BadInput(f"period must be above 2 steps, got {period!r}")
    return float(period)


def _waves(time: np.ndarray, period: float, harmonics: int) -> tuple[Floats, Floats]:
    """Return the cosines and sines at a time, one harmonic per column."""
    angle = 2 * np.pi / period * time[..., None] * np.arange(1, harmonics + 1)
    return np.cos(angle), np.sin(angle)


def fit_harmonics(values: Ints, period: float, harmonics: int, known: bool) -> Fit:
    """Return the fit with this many harmonics; `known`: the period was not fitted."""
    x = values.astype(np.float64)
    cosine, sine = _waves(np.arange(1, len(x)), period, harmonics)
    line = regress(x[1:], np.ones(len(x) - 1), x[:-1], *cosine.T, *sine.T)
    phi = check_phi("phi of the data", float(line.coefficient[1]))
    sigma = sigma_of(line.variance)
    plain = _unfold(line.coefficient, period)
    cosines, sines = plain[2 : 2 + harmonics], plain[2 + harmonics :]
    model = Seasonal(period, plain[0], cosines, sines, phi, sigma)
    free = 3 + 2 * harmonics + (0 if known else 1)
    plural = "s" if harmonics > 1 else ""
    detail = f"period {period:.6g}, {harmonics} harmonic{plural}"
    return fitted(model, values, free, detail)


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


def find_period(data: np.ndarray) -> float:
    """Return the period, in steps, whose wave explains most of the data.

    >>> round(find_period(100 * np.sin(np.arange(400) / 25 * 2 * np.pi)), 3)
    25.0
    """
    x = np.asarray(data, dtype=np.float64)
    left = regress(x[1:], np.ones(len(x) - 1), x[:-1]).residual
    count = len(left)
    power = np.abs(np.fft.rfft(left, PAD * count)) ** 2
    frequency = np.arange(len(power)) / (PAD * count)
    power[frequency < CYCLES / len(x)] = 0
    power[frequency > 0.499] = 0  # periods of 2 steps have no phase to fit
    top = int(np.argmax(power))
    share = power[top] / max(float(left @ left), 1e-300)  # divided by the mean ordinate
    if not share > np.log(count / 2 / CHANCE):
        raise BadInput("data show no period beyond chance; pass period= if you know one")
    return _refine(x, frequency[top], 1 / (PAD * count))


def _refine(x: Floats, frequency: float, width: float) -> float:
    """Return the period near a frequency that has the smallest residual."""
    time = np.arange(1, len(x))

    def left(f: float) -> float:
        angle = 2 * np.pi * f * time
        waves = np.ones(len(time)), x[:-1], np.cos(angle), np.sin(angle)
        return regress(x[1:], *waves).variance

    low, high = max(frequency - width, 1.0 / len(x)), min(frequency + width, 0.4999)
    return 1 / minimum(left, low, high)
