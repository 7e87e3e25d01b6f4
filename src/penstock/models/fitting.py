"""The result of a fit, and what the fits of all families share: likelihood and regression.

Every log-likelihood is computed by `log_likelihood`: the sum over all steps but the first of
log Pr(X_t = x_t | x_{t-1}), probabilities of the same discrete values. So they can be compared
across families. The first value is given to all families, because a walk has no distribution of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..numeric import Estimate, Floats
from .cells import Grid
from .model import Model, Now


@dataclass(frozen=True)
class Fit:
    """A fitted model."""

    model: Any
    parameters: dict[str, Estimate]
    log_likelihood: float
    free: int  # the number of parameters chosen to suit the data
    count: int  # the number of values predicted: all but the first
    detail: str = ""  # the kind within the family

    @property
    def name(self) -> str:
        """The family, and the kind if it has several."""
        return f"{self.model.family} ({self.detail})" if self.detail else str(self.model.family)

    @property
    def bic(self) -> float:
        """Schwarz's Bayesian information criterion; the lower the better."""
        return float(self.free * np.log(self.count) - 2 * self.log_likelihood)


def fitted(
    model: Any, parameters: dict[str, Estimate], grid: Grid, free: int, detail: str = ""
) -> Fit:
    """Return the fit of a model to data."""
    likely = log_likelihood(model, grid.values)
    return Fit(model, parameters, likely, free, len(grid.values) - 1, detail)


def check_kind(name: str, kind: str, known: Iterable[str]) -> None:
    """Reject a kind that a family does not have."""
    if kind not in known:
        raise BadInput(f"{name} must be one of {', '.join(known)}, got {kind!r}")


def log_likelihood(model: Model, data: np.ndarray) -> float:
    """Return the log-probability of all values but the first, each given the one before.

    >>> from penstock.models import Stationary
    >>> log_likelihood(Stationary([0, 1], [0.5, 0.5]), np.array([0, 1, 1])) / np.log(0.5)
    np.float64(2.0)
    """
    before = Now(np.arange(len(data) - 1), data[:-1])
    with np.errstate(divide="ignore"):  # impossible data: minus infinity
        return float(np.log(model.prob(data[1:], 1, before)).sum())


class Regression(NamedTuple):
    """The result of ordinary least squares."""

    coefficient: Floats
    covariance: Floats
    residual: Floats
    variance: float  # of the residual, divided by the number of rows: the likeliest estimate

    @property
    def error(self) -> Floats:
        """The standard errors of the coefficients."""
        return np.sqrt(np.diag(self.covariance))


def regress(y: np.ndarray, *columns: np.ndarray) -> Regression:
    """Regress y on the columns; a constant must be one of them.

    >>> regress(np.array([1.0, 3.0, 5.0]), np.ones(3), np.arange(3)).coefficient.round(9)
    array([1., 2.])
    """
    x = np.column_stack([np.broadcast_to(column, y.shape) for column in columns])
    # Columns are scaled to one length: large times next to a constant would cost digits.
    scale = np.linalg.norm(x, axis=0)
    q, r = np.linalg.qr(x / scale)
    coefficient = np.linalg.solve(r, q.T @ y) / scale
    residual = y - x @ coefficient
    half = np.linalg.inv(r) / scale[:, None]
    spare = max(len(y) - x.shape[1], 1)
    covariance = half @ half.T * (residual @ residual / spare)
    return Regression(coefficient, covariance, residual, float(np.mean(residual**2)))
