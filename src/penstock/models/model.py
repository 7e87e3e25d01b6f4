"""What every model of a stream offers, and what it needs of the past.

All models here are Markov or do not even depend on the last value, so a history says no more than
its end: the current step and the value at it. Steps count from 0: a history of n values ends at
step n - 1.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Floats
from .cells import numbers


class Now(NamedTuple):
    """The current step and its value; both may be arrays, for several histories at once."""

    time: Any  # t: int or array of int
    value: Any = None  # the value at t; None if there is none yet or it is not known


History = ArrayLike | Now  # all values so far, or their end


@runtime_checkable
class Model(Protocol):
    """A stochastic process of keys, one per step: X_0, X_1, ...

    `independent`: given the time, a value says nothing about later values.
    `timeless`: the future depends on the last value alone, not on the time.
    """

    family: ClassVar[str]
    independent: ClassVar[bool]
    timeless: ClassVar[bool]

    def prob(self, v: Any, d: Any, history: History) -> Floats:
        """Return Pr(X_{t+d} = v | history up to t); v, d and the ends of histories broadcast."""

    def sample(self, length: int, seed: int, history: History = ()) -> np.ndarray:
        """Return `length` values: a stream from its start, or the continuation of a history."""


def now(history: History) -> Now:
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


def last(history: History, model: str) -> Now:
    """Return the end of a history for a model that needs the last value."""
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


def steps(d: Any) -> np.ndarray:
    """Return the numbers of steps ahead: at least one.

    >>> steps(3)
    array(3)
    """
    return np.asarray(whole("d (steps ahead)", d, 1))
