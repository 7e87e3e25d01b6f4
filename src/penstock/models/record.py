"""The outcome of a fit: the model, how sure its parameters are, and how likely it makes the data.

Every log-likelihood here is computed in one way, by `log_likelihood`: the sum over all steps but
the first of log Pr(X_t = x_t | x_{t-1}), probabilities of the same discrete values. So they compare
across families. The first value is given to all, because a walk has no opinion about it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numeric import Estimate
from .base import Model
from .history import Now


@dataclass(frozen=True)
class Fit:
    """A fitted model."""

    model: Any
    parameters: dict[str, Estimate]
    log_likelihood: float
    free: int  # how many parameters were chosen to suit the data
    count: int  # how many values were predicted: all but the first
    detail: str = ""  # which kind within the family

    @property
    def name(self) -> str:
        """The family, and the kind where it has several."""
        return f"{self.model.family} ({self.detail})" if self.detail else str(self.model.family)

    @property
    def bic(self) -> float:
        """Schwarz's Bayesian information criterion; the lower the better."""
        return float(self.free * np.log(self.count) - 2 * self.log_likelihood)


def log_likelihood(model: Model, data: np.ndarray) -> float:
    """Return the log-probability of all values but the first, each given the one before.

    >>> from penstock.models import Stationary
    >>> log_likelihood(Stationary([0, 1], [0.5, 0.5]), np.array([0, 1, 1])) / np.log(0.5)
    np.float64(2.0)
    """
    before = Now(np.arange(len(data) - 1), data[:-1])
    with np.errstate(divide="ignore"):  # impossible data: minus infinity
        return float(np.log(model.prob(data[1:], 1, before)).sum())
