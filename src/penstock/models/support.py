"""Which values a stream may bring in the next steps.

`prob` answers for the values that it is asked about; whoever adds up over all values, as for the
chance that two streams bring the same one, must know which to ask about. What lies in the tails of
a normal, with a mass of 1e-18 and less, is left out.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .ar1 import Ar1, spread
from .base import Model
from .cells import Floats, check_span, to_values
from .history import Now, last, now
from .known import Known
from .noise import TAIL
from .seasonal import Seasonal
from .stationary import Stationary
from .trend import Trend
from .walk import Walk


@functools.singledispatch
def support(model: Model, most: int, history: ArrayLike | Now) -> np.ndarray:
    """Return the values that may come within the next `most` steps, each once, in order.

    >>> from .noise import Discrete
    >>> support(Trend(1, 0, Discrete.uniform(1)), 2, history=[0])
    array([0, 1, 2, 3])
    """
    raise TypeError(f"support() does not know {type(model).__name__}; register it")


@support.register
def _(model: Stationary, most: int, history: Any) -> np.ndarray:
    return model.values


@support.register
def _(model: Known, most: int, history: Any) -> np.ndarray:
    start = now(history).time + 1
    return np.unique(model.values[start : start + most])


@support.register
def _(model: Trend, most: int, history: Any) -> np.ndarray:
    centre = model.centre(now(history).time + 1 + np.arange(most))
    noise = model.noise
    return _cells(centre.min() + noise.lowest, centre.max() + noise.highest, model.unit)


@support.register
def _(model: Walk, most: int, history: Any) -> np.ndarray:
    here = round(last(history, model.family).value / model.unit)
    low, high = (
        edge(most * far, far) for edge, far in ((min, model.step.lowest), (max, model.step.highest))
    )
    return _cells(here + low, here + high, model.unit)


@support.register
def _(model: Ar1, most: int, history: Any) -> np.ndarray:
    ahead = np.arange(1, most + 1)
    mean = model.mean + model.phi1**ahead * (last(history, model.family).value - model.mean)
    return _around(mean, spread(model.phi1, model.sigma, ahead), model.unit)


@support.register
def _(model: Seasonal, most: int, history: Any) -> np.ndarray:
    end, ahead = last(history, model.family), np.arange(1, most + 1)
    off = end.value - model.season(end.time)
    mean = model.season(end.time + ahead) + model.phi**ahead * off
    return _around(mean, spread(model.phi, model.sigma, ahead), model.unit)


def _around(mean: Floats, sd: Floats, unit: float) -> np.ndarray:
    low = np.floor((mean - TAIL * sd).min() / unit)
    high = np.ceil((mean + TAIL * sd).max() / unit)
    return _cells(int(low), int(high), unit)


def _cells(lowest: int, highest: int, unit: float) -> np.ndarray:
    check_span("what may come", lowest, highest)
    return to_values(np.arange(lowest, highest + 1), unit)
