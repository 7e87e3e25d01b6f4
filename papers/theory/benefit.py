"""The expected benefit of keeping a row within d steps, in a join and in a cache.

In a join it is the expected number of matches. In a cache it is the probability that the row is
referenced at all: after its first reference it would be fetched and offered again anyway.

Source: lemma 1 and corollary 1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import BadInput
from penstock.models import Model, Now, Seasonal, Stationary, Trend, Walk
from penstock.models.autoregression import Autoregression
from penstock.models.cells import to_cells
from penstock.models.model import Past, now, steps
from penstock.numeric import Floats

LARGEST = 1 << 26  # entries: a table of half a gigabyte
DEPENDENT = (Walk, Autoregression)  # on the value before


def joining(model: Model, v: Any, d: Any, history: Past) -> Floats:
    """Return the expected matches of a row of value v within the next d arrivals.

    `model` is that of the other stream, and `history` its values so far. v and d broadcast.

    >>> joining(Stationary([1, 2], [0.3, 0.7]), 1, [1, 10], history=[]).tolist()
    [0.3, 3.0]
    """
    check_single(history)
    if isinstance(model, Stationary):
        return np.asarray(d) * model.prob(v, d, history)
    if isinstance(model, Trend) and abs(model.slope) == 1:
        return _passing(model, v, d, history)
    return gathered(lambda v, ahead: np.cumsum(model.prob(v, ahead, history), axis=1), v, d)


def _passing(model: Trend, v: Any, d: Any, history: Past) -> Floats:
    """A trend of one cell per step passes v at each distance once: a difference of two sums."""
    value, ahead = np.broadcast_arrays(np.asarray(v), steps(d))
    cell, on = to_cells(value)
    first = cell - model.centre(now(history).time + 1)
    far = first - (ahead - 1) * (1 if model.slope > 0 else -1)
    below = np.concatenate([[0.0], np.cumsum(model.noise.mass)])  # of the lowest cell, and so on

    def up_to(x: Any) -> Floats:
        return below[np.clip(x - model.noise.lowest + 1, 0, len(below) - 1)]

    mass = up_to(np.maximum(first, far)) - up_to(np.minimum(first, far) - 1)
    return np.where(on, mass, 0.0)[()]


def caching(model: Model, v: Any, d: Any, history: Past) -> Floats:
    """Return the probability that value v is referenced within the next d references.

    >>> caching(Stationary([1, 2], [0.5, 0.5]), 1, [1, 2, 3], history=[]).tolist()
    [0.5, 0.75, 0.875]
    """
    check_single(history)
    if isinstance(model, Stationary):
        return np.asarray(1 - (1 - model.prob(v, d, history)) ** np.asarray(d))[()]
    if not isinstance(model, DEPENDENT):
        return gathered(lambda v, d: 1 - np.cumprod(1 - model.prob(v, d, history), axis=1), v, d)
    return gathered(lambda v, d: _first_visits(model, v, d, history), v, d)


def check_single(history: Past) -> None:
    """Reject the ends of several histories."""
    end = now(history)
    if np.ndim(end.time) or (end.value is not None and np.ndim(end.value)):
        raise BadInput("history must be one history, got the ends of several; ask for each")


def gathered(curve: Callable[[Any, Any], np.ndarray], v: Any, d: Any) -> Floats:
    """Return `curve` at each (v, d); it is called once, for different values and all steps."""
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


def _first_visits(model: Model, v: np.ndarray, ahead: np.ndarray, history: Any) -> Floats:
    """Return the probability that a Markov stream visits v within d steps, d = 1, 2, ...

    To be at v after d steps, the stream must visit v for the first time at some step i and be there
    again d - i steps later; subtracting the later visits leaves the first ones. The state at a
    visit is the value v: exact for a walk, correct to half a unit for an autoregression. Compared
    with 20,000 runs of 20 steps, the error is up to 0.01 at a sigma of one unit and 0.05 at half a
    unit; from two units on it is below the error of the runs, 0.004.
    """
    time, last = now(history).time, ahead.shape[1]
    first = np.array(model.prob(v, ahead, history))
    again = model.prob(v, ahead, Now(time, v))
    for i in range(last - 1):
        np.maximum(first[:, i], 0.0, out=first[:, i])
        if isinstance(model, Seasonal):  # the others do not depend on the time
            again = model.prob(v, ahead[:, : last - 1 - i], Now(time + i + 1, v))
        first[:, i + 1 :] -= first[:, i : i + 1] * again[:, : last - 1 - i]
    return np.minimum(np.cumsum(np.maximum(first, 0.0), axis=1), 1.0)
