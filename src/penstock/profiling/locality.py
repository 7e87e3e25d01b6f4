"""The locality model: a tuple repeats one of the last h, or is drawn afresh.

    x_n = x_{n-i} with probability a_i, i = 1 .. h;  y, drawn from P, with probability b

b is how much of the locality is popularity alone: 1 for independent draws. How its parameters are
found in a stream is in `squares.py`, as the paper has it, and in `likelihood.py`; streams are drawn
from it by `workloads.locality`.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..workloads.draws import at_least
from ..workloads.locality import Locality

__all__ = ["Locality", "Weights", "check_h"]

Floats = NDArray[np.float64]


class Weights(NamedTuple):
    """What an estimator says of a_1 .. a_h and b."""

    a: Floats  # float64[h]
    b: float

    @property
    def h(self) -> int:
        """How far back the model looks."""
        return len(self.a)


def check_h(h: int, length: int, of: str = "stream") -> None:
    """Refuse to look back further than the stream goes.

    >>> check_h(50, 20)
    Traceback (most recent call last):
    penstock.errors.BadInput: h must be below the length of the stream, 20 tuples, got 50
    """
    at_least("h", h, 1)
    if h >= length:
        raise BadInput(f"h must be below the length of the {of}, {length} tuples, got {h}")
