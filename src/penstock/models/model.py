"""What every model of a stream offers, what it needs of the past, and what its fits share.

All models here are Markov or do not even depend on the last value, so a history says no more than
its end: the current step and the value at it. Steps count from 0: a history of n values ends at
step n - 1.

Every log-likelihood is computed by `log_likelihood`: the sum over all steps but the first of
log Pr(X_t = x_t | x_{t-1}), probabilities of the same discrete values. So they can be compared
across families. The first value is given to all families, because a walk has no distribution of it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Estimate, Floats, Ints
from .cells import check_span, numbers


class Now(NamedTuple):
    """The current step and its value; both may be arrays, for several histories at once."""

    time: int | np.ndarray  # t
    value: float | np.ndarray | None = None  # at t; None if there is none yet or it is not known


Past = ArrayLike | Now  # all values so far, or their end


@runtime_checkable
class Model(Protocol):
    """A stochastic process of keys, one per step: X_0, X_1, ..."""

    family: ClassVar[str]

    def prob(self, v: ArrayLike, d: ArrayLike, history: Past) -> Floats:
        """Return Pr(X_{t+d} = v | history up to t); v, d and the ends of histories broadcast."""

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return the values that can occur within the next `most` steps, each once, in order.

        Values in the tails of a normal, with a mass of 1e-18 or less, are omitted.
        """


def now(history: Past) -> Now:
    """Return the end of a history.

    >>> now([5, 6, 7])
    Now(time=2, value=np.int64(7))
    >>> now([])
    Now(time=-1, value=None)
    """
    if isinstance(history, Now):
        if history.value is not None:
            numbers("value of the history", np.ravel(history.value))
        return Now(whole("time of the history", history.time, -1), history.value)
    if np.size(history) == 0:
        return Now(-1)
    values = numbers("history", history)
    return Now(len(values) - 1, values[-1])


def last(history: Past, model: str) -> Any:
    """Return the end of a history, a `Now` with a value, for a model that needs the last value."""
    end = now(history)
    if end.value is None:
        raise BadInput(
            f"history of a {model} model must end with the current value, got none;"
            " pass the values so far, or Now(time, value)"
        )
    return end


def whole(name: str, value: Any, lowest: int) -> Any:
    """Return whole numbers of at least `lowest`: an int, or an array of int64.

    >>> whole("d", [1, 2], lowest=1)
    array([1, 2])
    """
    many = np.asarray(value)
    if many.dtype.kind not in "iu" or (many.size and many.min() < lowest):
        got = many.min() if many.dtype.kind in "iu" else repr(value)
        raise BadInput(f"{name} must be a whole number of at least {lowest}, got {got}")
    return int(many) if many.ndim == 0 else many.astype(np.int64)


def steps(d: ArrayLike) -> np.ndarray:
    """Return the numbers of steps ahead: at least one.

    >>> steps(3)
    array(3)
    """
    return np.asarray(whole("d (steps ahead)", d, 1))


def values_between(lowest: int, highest: int) -> Ints:
    """Return all values from the lowest to the highest."""
    check_span("the values that can occur", lowest, highest)
    return np.arange(lowest, highest + 1)


@dataclass(frozen=True)
class Fit:
    """A fitted model."""

    model: Any
    log_likelihood: float
    free: int  # the number of parameters chosen to suit the data
    count: int  # the number of values predicted: all but the first
    detail: str = ""  # the kind within the family
    added: Estimate | None = None  # the slope of a trend, phi1 of an AR(1): at 0 both are no more

    @property
    def name(self) -> str:
        """The family, and the kind if it has several."""
        return f"{self.model.family} ({self.detail})" if self.detail else str(self.model.family)

    @property
    def bic(self) -> float:
        """Schwarz's Bayesian information criterion; the lower the better."""
        return float(self.free * np.log(self.count) - 2 * self.log_likelihood)


def fitted(
    model: Any, data: Ints, free: int, detail: str = "", added: Estimate | None = None
) -> Fit:
    """Return the fit of a model to data."""
    return Fit(model, log_likelihood(model, data), free, len(data) - 1, detail, added)


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
