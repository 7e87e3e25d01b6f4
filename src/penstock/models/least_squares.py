"""Ordinary least squares with standard errors."""

from typing import NamedTuple

import numpy as np

from .cells import Floats


class Regression(NamedTuple):
    """Coefficients, their covariance, and what is left over."""

    coefficient: Floats
    covariance: Floats
    residual: Floats
    variance: float  # of the residual; over the number of rows: the likeliest, not the unbiased

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
    # Columns of one length: years of steps beside a constant would cost digits.
    scale = np.linalg.norm(x, axis=0)
    q, r = np.linalg.qr(x / scale)
    coefficient = np.linalg.solve(r, q.T @ y) / scale
    residual = y - x @ coefficient
    half = np.linalg.inv(r) / scale[:, None]
    spare = max(len(y) - x.shape[1], 1)
    covariance = half @ half.T * (residual @ residual / spare)
    return Regression(coefficient, covariance, residual, float(np.mean(residual**2)))
