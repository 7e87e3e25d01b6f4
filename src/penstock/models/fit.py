"""Choosing the family of models that a stream comes from.

Every family is fitted to the same discrete values and judged by Schwarz's Bayesian information
criterion, BIC: twice the negative log-likelihood plus log(n) for every free parameter. It asks
more of a parameter the longer the stream, so that it settles on the true family where there is
one. Among candidates within `MARGIN` of the lowest the one with the fewest parameters is taken.
A candidate that its own parameters speak against (a slope of nothing, say) is set aside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import chi_square_above
from . import stationary, trend, walk
from .ar1 import Ar1
from .cells import on_grid
from .record import Fit
from .seasonal import Seasonal, check_period
from .stationary import Stationary
from .trend import Trend
from .walk import Walk

LEAST = 50  # values: with fewer a walk and an AR(1) look alike
# Of BIC: strong evidence in the words of Kass and Raftery (1995). Of 1000 walks of 1000
# steps 88 look more like an AR(1), because least squares finds phi below 1; 4 by more than this.
MARGIN = 6.0
SURE = 3.0  # standard errors that a slope or phi must be away from nothing
CHANCE = 1e-3  # of setting aside a distribution that is right
POOL = 5.0  # expected count, the least that the chi-square distribution is good for
TURN = -0.25  # correlation of one step with the next; independent values have -0.5, a walk 0


@dataclass(frozen=True)
class Candidate:
    """One way to see the stream; `against` says why it cannot be chosen, or nothing."""

    name: str
    fit: Fit | None
    against: str = ""

    @property
    def bic(self) -> float:
        """The criterion; infinite where there is no fit."""
        return np.inf if self.fit is None else self.fit.bic


@dataclass(frozen=True)
class Choice:
    """The fit that was chosen, all candidates from the lowest BIC up, and why in a sentence."""

    fit: Fit
    candidates: list[Candidate]
    why: str

    def table(self) -> str:
        """Return the candidates as lines of text."""
        lines = [f"{'candidate':<44}{'BIC':>12}{'parameters':>12}  remark"]
        for each in self.candidates:
            free = "" if each.fit is None else str(each.fit.free)
            bic = "" if each.fit is None else f"{each.bic:.1f}"
            remark = "chosen" if each.fit is self.fit else each.against
            lines.append(f"{each.name:<44}{bic:>12}{free:>12}  {remark}".rstrip())
        return "\n".join(lines)


def best(data: ArrayLike, period: float | None = None, unit: float | None = None) -> Choice:
    """Fit every family to a stream and return the one that explains it best, and why.

    period: the season's, in steps; without it one is looked for.
    unit: what all values are multiples of; without it the data's own.

    >>> choice = best(Walk.normal(drift=0, sd=1).sample(2000, seed=1))
    >>> choice.fit.name
    'walk (normal steps)'
    >>> choice.why
    'walk (normal steps) has the lowest BIC, 5816.0, of 7 candidates on 1999 values (3 more ...'
    """
    if period is not None:
        check_period(period)
    grid = on_grid(data, unit, LEAST)
    if (grid.cell == grid.cell[0]).all():
        raise BadInput(f"data must vary, got {grid.values[0]} every time: there is nothing to fit")
    tried = [_try(name, fit, grid.values) for name, fit in _families(grid.unit, period)]
    tried.sort(key=lambda each: each.bic)
    # Never empty: counting the values always works, and nothing is held against it.
    able = [each.fit for each in tried if each.fit is not None and not each.against]
    chosen = _choose(able)
    return Choice(chosen, tried, _why(chosen, able, len(tried) - len(able)))


Fitter = Callable[[np.ndarray], Fit]


def _families(unit: float, period: float | None) -> list[tuple[str, Fitter]]:
    families: list[tuple[str, Fitter]] = []
    for kind in stationary.KINDS:
        families.append((f"stationary ({kind})", partial(Stationary.fit, kind=kind, unit=unit)))
    for noise in trend.KINDS:
        families.append((f"trend ({noise} noise)", partial(Trend.fit, noise=noise, unit=unit)))
    for step in walk.KINDS:
        families.append((f"walk ({step} steps)", partial(Walk.fit, step=step, unit=unit)))
    families.append(("ar1", partial(Ar1.fit, unit=unit)))
    families.append(("seasonal", partial(Seasonal.fit, period=period, unit=unit)))
    return families


def _try(name: str, fitter: Fitter, data: np.ndarray) -> Candidate:
    try:
        fit = fitter(data)
    except BadInput as refusal:
        return Candidate(name, None, str(refusal))
    return Candidate(fit.name, fit, _against(fit, data))


def _against(fit: Fit, data: np.ndarray) -> str:
    """Return what speaks against a fit by itself, or nothing."""
    if isinstance(fit.model, Stationary) and fit.detail != "empirical":
        return _misses_counts(fit.model, data)
    if isinstance(fit.model, Trend):
        return _is_nothing(fit, "slope")
    if isinstance(fit.model, Walk):
        turn = _turn(data)
        if turn < TURN:
            return f"its steps turn back, correlation {turn:.2f}, as those of other streams do"
    if isinstance(fit.model, Ar1):
        return _is_nothing(fit, "phi1")
    return ""


def _is_nothing(fit: Fit, name: str) -> str:
    value, error = fit.parameters[name]
    if error is not None and abs(value) < SURE * error:
        return f"{name} {value:.4g} ± {error:.2g} cannot be told from 0"
    return ""


def _misses_counts(model: Stationary, data: np.ndarray) -> str:
    """Test the counts of values against a smooth distribution (Pearson's chi-square).

    BIC counts a parameter for every different value, too many for a long tail of rare ones; it
    would call a skewed popularity uniform. Neighbours are pooled until `POOL` are expected.
    """
    place = np.searchsorted(model.values, data)
    count = np.bincount(place, minlength=len(model.values))
    expected = len(data) * model.probabilities
    pool = (np.cumsum(expected) / POOL).astype(np.int64)
    seen, due = np.bincount(pool, count), np.bincount(pool, expected)
    kept = due > 0  # a popular value may fill several pools; those left empty are none
    square = float(((seen - due)[kept] ** 2 / due[kept]).sum())
    if chi_square_above(square, max(int(kept.sum()) - 3, 1)) < CHANCE:
        return f"the counts of values differ from it beyond chance, chi-square {square:.0f}"
    return ""


def _turn(data: np.ndarray) -> float:
    """Return the correlation of a step with the next, around their mean."""
    moves = np.diff(data).astype(np.float64)
    moves -= moves.mean()
    return float(moves[1:] @ moves[:-1] / max(float(moves @ moves), 1e-300))


def _choose(able: list[Fit]) -> Fit:
    """Return the plainest of those that are about as good as the best."""
    near = [fit for fit in able if fit.bic <= able[0].bic + MARGIN]
    return min(near, key=lambda fit: (fit.free, fit.bic))


def _why(chosen: Fit, able: list[Fit], aside: int) -> str:
    among = f"of {len(able)} candidates on {chosen.count} values ({aside} more were set aside)"
    if chosen is not able[0]:
        return (
            f"{chosen.name} has the fewest parameters among those within {MARGIN:g} of the lowest"
            f" BIC, {able[0].bic:.1f}, {among}; its own is {chosen.bic:.1f}."
        )
    said = f"{chosen.name} has the lowest BIC, {chosen.bic:.1f}, {among}"
    if chosen.model.family == Stationary.family:
        return said + "; no other family beats independent values."
    rivals = [fit for fit in able if fit.model.family != chosen.model.family]
    if rivals:
        said += f"; the next family, {rivals[0].name}, has {rivals[0].bic:.1f}"
    return said + "."
