"""The expected benefit of keeping a row in a join: its expected matches within d arrivals.

Source: lemma 1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

from typing import Any

import numpy as np

from penstock.models import Model, Stationary, Trend
from penstock.models.benefit import check_single, gathered
from penstock.models.cells import to_cells
from penstock.models.model import History, now, steps
from penstock.numeric import Floats


def joining(model: Model, v: Any, d: Any, history: History) -> Floats:
    """Return the expected matches of a row of value v within the next d arrivals.

    `model` is that of the other stream, and `history` its values so far. v and d broadcast.

    >>> joining(Stationary([1, 2], [0.3, 0.7]), 1, [1, 10], history=[]).tolist()
    [0.3, 3.0]
    """
    check_single(history)
    if isinstance(model, Stationary):
        return np.asarray(d) * model.prob(v, d, history)
    if isinstance(model, Trend) and abs(model.slope) == model.unit:
        return _passing(model, v, d, history)
    return gathered(lambda v, ahead: np.cumsum(model.prob(v, ahead, history), axis=1), v, d)


def _passing(model: Trend, v: Any, d: Any, history: History) -> Floats:
    """A trend of one cell per step passes v at each distance once: a difference of two sums."""
    value, ahead = np.broadcast_arrays(np.asarray(v), steps(d))
    cell, on = to_cells(value, model.unit)
    first = cell - model.centre(now(history).time + 1)
    far = first - (ahead - 1) * (1 if model.slope > 0 else -1)
    below = np.concatenate([[0.0], np.cumsum(model.noise.mass)])  # of the lowest cell, and so on

    def up_to(x: Any) -> Floats:
        return below[np.clip(x - model.noise.lowest + 1, 0, len(below) - 1)]

    mass = up_to(np.maximum(first, far)) - up_to(np.minimum(first, far) - 1)
    return np.where(on, mass, 0.0)[()]
