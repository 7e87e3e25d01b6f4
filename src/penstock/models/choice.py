"""The family of models that describes a stream best.

Every family is fitted to the same discrete values and judged by Schwarz's Bayesian information
criterion, BIC: twice the negative log-likelihood plus log(n) for every free parameter. The longer
the stream, the more a parameter must explain, so that the true family is found if there is one.
Among candidates within `MARGIN` of the lowest, the one with the fewest parameters is chosen. A
candidate that its own parameters contradict, such as a slope that may be 0, is not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Estimate, chi_square_above
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


@dataclass(frozen=True)
class FamilyFit:
    """One possible model; `against` says why it cannot be chosen, or is empty."""

    name: str
    fit: Fit | None
    against: str = ""

    @property
    def bic(self) -> float:
        """The criterion; infinite if there is no fit."""
        return np.inf if self.fit is None else self.fit.bic


@dataclass(frozen=True)
class Choice:
    """The fit that was chosen, and all candidates from the lowest BIC up."""

    fit: Fit
    candidates: list[FamilyFit]


def best(data: ArrayLike, period: float | None = None) -> Choice:
    """Fit every family to a stream and return the best one, with all candidates.

    period: of the season, in steps; found from the data if it is not given.

    >>> choice = best(np.cumsum(np.random.default_rng(1).normal(0, 1, 2000).round()))
    >>> choice.fit.name
    'walk (normal steps)'
    >>> [each.name for each in choice.candidates if not each.against][:3]
    ['walk (normal steps)', 'ar1', 'walk (empirical steps)']
    """
    if period is not None:
        check_period(period)
    values = whole_numbers(data, LEAST)
    if (values == values[0]).all():
        raise BadInput(f"data must vary, got {values[0]} every time")
    tried = [_try(name, fit, values) for name, fit in _families(period)]
    tried.sort(key=lambda each: each.bic)
    # Never empty: the counted values always have a fit, and nothing speaks against it.
    able = [each.fit for each in tried if each.fit is not None and not each.against]
    near = [fit for fit in able if fit.bic <= able[0].bic + MARGIN]
    return Choice(min(near, key=lambda fit: (fit.free, fit.bic)), tried)


Fitter = Callable[[np.ndarray], Fit]


def _families(period: float | None) -> list[tuple[str, Fitter]]:
    return [
        *((f"stationary ({kind})", partial(Stationary.fit, kind=kind)) for kind in COUNTED),
        *((f"trend ({noise} noise)", partial(Trend.fit, noise=noise)) for noise in NOISES),
        *((f"walk ({step} steps)", partial(Walk.fit, step=step)) for step in walk.KINDS),
        ("ar1", Ar1.fit),
        ("seasonal", partial(Seasonal.fit, period=period)),
    ]


def _try(name: str, fitter: Fitter, data: np.ndarray) -> FamilyFit:
    try:
        fit = fitter(data)
    except BadInput as error:
        return FamilyFit(name, None, str(error))
    return FamilyFit(fit.name, fit, _against(fit, data))


def _against(fit: Fit, data: np.ndarray) -> str:
    """Return why a fit cannot be chosen, or an empty text."""
    if isinstance(fit.model, Stationary) and fit.detail != "empirical":
        return _misses_counts(fit.model, data)
    if isinstance(fit.model, Trend):
        return _is_zero("slope", fit.added)
    if isinstance(fit.model, Walk):
        turn = _turn(data)
        if turn < TURN:
            return f"consecutive steps have the correlation {turn:.2f}, too low for a walk"
    if isinstance(fit.model, Ar1):
        return _is_zero("phi1", fit.added)
    return ""


def _is_zero(name: str, found: Estimate | None) -> str:
    if found is None or found.error is None or abs(found.value) >= SURE * found.error:
        return ""
    return f"{name} {found.value:.4g} ± {found.error:.2g} may be 0"


def _misses_counts(model: Stationary, data: np.ndarray) -> str:
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
    if chi_square_above(square, max(int(kept.sum()) - 3, 1)) < CHANCE:
        return f"the counts of values differ from it by more than chance, chi-square {square:.0f}"
    return ""


def _turn(data: np.ndarray) -> float:
    """Return the correlation of consecutive steps."""
    moves = np.diff(data).astype(np.float64)
    moves -= moves.mean()
    return float(moves[1:] @ moves[:-1] / max(float(moves @ moves), 1e-300))
