"""The family of models that describes a stream best.

Every family is fitted to the same discrete values and judged by Schwarz's Bayesian information
criterion, BIC: twice the negative log-likelihood plus log(n) for every free parameter. The longer
the stream, the more a parameter must explain, so that the true family is found if there is one.
Among fits within `MARGIN` of the lowest, the one with the fewest parameters is chosen. A fit that
its own parameters contradict, such as a slope that may be 0, is not.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Ints, chi_square_above
from . import walk
from .autoregression import Ar1, Seasonal, check_period
from .cells import whole_numbers
from .independent import COUNTED, NOISES, Stationary, Trend
from .model import Fit
from .walk import Walk

LEAST = 50  # values: with fewer, a walk and an AR(1) look alike
# Of BIC: strong evidence according to Kass and Raftery (1995). Of 1000 walks of 1000 steps, 88
# look more like an AR(1), because least squares finds phi below 1; 4 by more than this.
MARGIN = 6.0
SURE = 3.0  # standard errors that a slope or phi must differ from 0 by
CHANCE = 1e-3  # of rejecting a distribution that is right
POOL = 5.0  # expected count, the smallest for which the chi-square distribution holds
TURN = -0.25  # correlation of one step with the next; independent values have -0.5, a walk 0


def best(data: ArrayLike, period: float | None = None) -> Fit:
    """Fit every family to a stream and return the best fit.

    period: of the season, in steps; found from the data if it is not given.

    >>> best(np.cumsum(np.random.default_rng(1).normal(0, 1, 2000).round())).name
    'walk (normal steps)'
    """
    if period is not None:
        check_period(period)
    values = whole_numbers(data, LEAST)
    if (values == values[0]).all():
        raise BadInput(f"data must vary, got {values[0]} every time")
    fits = [fit for fit in fits_of(values, period) if is_consistent(fit, values)]
    # Never empty: the counted values always have a fit that nothing contradicts.
    lowest = min(fit.bic for fit in fits)
    near = [fit for fit in fits if fit.bic <= lowest + MARGIN]
    return min(near, key=lambda fit: (fit.free, fit.bic))


def fits_of(values: Ints, period: float | None = None) -> list[Fit]:
    """Return the fit of every family that the values can be fitted to."""
    families: list[Callable[[Ints], Fit]] = [
        *(partial(Stationary.fit, kind=kind) for kind in COUNTED),
        *(partial(Trend.fit, noise=noise) for noise in NOISES),
        *(partial(Walk.fit, step=step) for step in walk.KINDS),
        Ar1.fit,
        partial(Seasonal.fit, period=period),
    ]
    found = []
    for fit in families:
        with suppress(BadInput):
            found.append(fit(values))
    return found


def is_consistent(fit: Fit, data: Ints) -> bool:
    """Tell whether neither the data nor its own parameters contradict a fit."""
    if isinstance(fit.model, Stationary) and fit.detail != "empirical":
        return _has_counts(fit.model, data)
    if isinstance(fit.model, Walk):
        return _turn(data) >= TURN
    if fit.added is None or fit.added.error is None:
        return True
    return abs(fit.added.value) >= SURE * fit.added.error  # else the slope or phi1 may be 0


def _has_counts(model: Stationary, data: Ints) -> bool:
    """Test the counts of values against a smooth distribution (Pearson's chi-square).

    BIC counts a parameter for every different value, too many for a long tail of rare values: a
    skewed popularity would seem uniform. Neighbours are pooled until `POOL` are expected.
    """
    place = np.searchsorted(model.values, data)
    count = np.bincount(place, minlength=len(model.values))
    expected = len(data) * model.probabilities
    pool = (np.cumsum(expected) / POOL).astype(np.int64)
    seen, due = np.bincount(pool, count), np.bincount(pool, expected)
    kept = due > 0  # a popular value may fill several pools; the others stay empty
    square = float(((seen - due)[kept] ** 2 / due[kept]).sum())
    return chi_square_above(square, max(int(kept.sum()) - 3, 1)) >= CHANCE


def _turn(data: np.ndarray) -> float:
    """Return the correlation of consecutive steps."""
    moves = np.diff(data).astype(np.float64)
    moves -= moves.mean()
    return float(moves[1:] @ moves[:-1] / max(float(moves @ moves), 1e-300))
