"""The expected cumulative benefit of keeping a tuple: how much it will have brought d steps on.

For a join that is the expected number of matches with the other stream; for a cache it is the
probability of being referenced at all, because after its first reference a tuple would be fetched
and offered anew anyway.

Source: lemma 1 and corollary 1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from .base import Model
from .cells import Floats, to_cells
from .counts import steps
from .history import Now, now
from .stationary import Stationary
from .trend import Trend

LARGEST = 1 << 26  # a table of half a gigabyte


def joining(model: Model, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
    """Return the expected matches of a tuple of value v within the next d arrivals.

    `model` is that of the other stream, and `history` what it brought so far. v and d broadcast.

    >>> joining(Stationary([1, 2], [0.3, 0.7]), 1, [1, 10], history=[]).tolist()
    [0.3, 3.0]
    """
    _check_one(history)
    if isinstance(model, Stationary):
        return np.asarray(d) * model.prob(v, d, history)
    if isinstance(model, Trend) and abs(model.slope) == model.unit:
        return _passing(model, v, d, history)
    return _gathered(lambda v, ahead: np.cumsum(model.prob(v, ahead, history), axis=1), v, d)


def caching(model: Model, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
    """Return the probability that value v is referenced within the next d references.

    >>> caching(Stationary([1, 2], [0.5, 0.5]), 1, [1, 2, 3], history=[]).tolist()
    [0.5, 0.75, 0.875]
    """
    _check_one(history)
    if isinstance(model, Stationary):
        return np.asarray(1 - (1 - model.prob(v, d, history)) ** np.asarray(d))[()]
    if model.independent:
        return _gathered(lambda v, ahead: _first_of_independent(model, v, ahead, history), v, d)
    return _gathered(lambda v, ahead: _first_visits(model, v, ahead, history), v, d)


def _check_one(history: ArrayLike | Now) -> None:
    end = now(history)
    if np.ndim(end.time) or np.ndim(end.value):
        raise BadInput("history must be one history, got the ends of several; ask for each")


def _passing(model: Trend, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
    """A trend of one cell a step passes v at each distance once: a difference of two sums."""
    value, ahead = np.broadcast_arrays(np.asarray(v), steps(d))
    cell, on = to_cells(value, model.unit)
    first = cell - model.centre(now(history).time + 1)
    far = first - (ahead - 1) * (1 if model.slope > 0 else -1)
    low, high = np.minimum(first, far), np.maximum(first, far)
    return np.where(on, model.noise.up_to(high) - model.noise.up_to(low - 1), 0.0)[()]


def _gathered(curve: Callable[[np.ndarray, np.ndarray], Floats], v: Any, d: Any) -> Floats:
    """Return what `curve` says about each (v, d); it is asked once a value, for all steps."""
    value, ahead = np.broadcast_arrays(np.asarray(v), steps(d))
    if not ahead.size:
        return np.zeros(ahead.shape)
    different, place = np.unique(value, return_inverse=True)
    if len(different) * int(ahead.max()) > LARGEST:
        raise BadInput(
            f"v and d must ask for at most {LARGEST} probabilities at once,"
            f" got {len(different)} values over {ahead.max()} steps; ask for fewer"
        )
    table = curve(different[:, None], np.arange(1, ahead.max() + 1)[None, :])
    return table[place.reshape(ahead.shape), ahead - 1][()]


def _first_of_independent(model: Model, v: np.ndarray, ahead: np.ndarray, history: Any) -> Floats:
    """Return one minus the probability that v stays away d times, d = 1, 2, ..."""
    away = np.cumprod(1 - model.prob(v, ahead, history), axis=1)
    return np.asarray(1 - away)


def _first_visits(model: Model, v: np.ndarray, ahead: np.ndarray, history: Any) -> Floats:
    """Return the probability that a Markov stream visits v within d steps, d = 1, 2, ...

    To be at v after d steps it must come there for the first time at some step i and be there
    again d - i steps later; taking the later visits away leaves the first ones. The state at a
    visit is the value v: exact for a walk, right to half a unit for an autoregression. Against
    20,000 runs of 20 steps that shows where sigma is small: up to 0.01 at a sigma of one unit, 0.05
    at half a unit; from two units on it is lost in the runs' own error of 0.004.
    """
    time, last = now(history).time, ahead.shape[1]
    first = np.array(model.prob(v, ahead, history))
    again = model.prob(v, ahead, Now(time, v))
    for i in range(last - 1):
        np.maximum(first[:, i], 0.0, out=first[:, i])
        if not model.timeless:
            again = model.prob(v, ahead[:, : last - 1 - i], Now(time + i + 1, v))
        first[:, i + 1 :] -= first[:, i : i + 1] * again[:, : last - 1 - i]
    return np.minimum(np.cumsum(np.maximum(first, 0.0), axis=1), 1.0)
