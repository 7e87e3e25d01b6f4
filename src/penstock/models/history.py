"""What a model needs of the past: the current step, and the value that came at it.

All the models here are Markov or forget even the last value, so a whole history says no more than
its end. Steps count from 0: a history of n values ends at step n - 1.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from .cells import numbers
from .counts import whole


class Now(NamedTuple):
    """The current step and its value; both may be arrays, to ask about several pasts at once."""

    time: Any  # t: int or array of int
    value: Any = None  # the value at t; None where nothing has come yet or nobody knows


def now(history: "ArrayLike | Now") -> Now:
    """Return the end of a history, which is either all its values or already its end.

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


def last(history: "ArrayLike | Now", model: str) -> Now:
    """Return the end of a history for a model that cannot do without the last value."""
    end = now(history)
    if end.value is None:
        raise BadInput(
            f"history of a {model} model must end with the current value, got none;"
            " pass the values so far, or Now(time, value)"
        )
    return end
