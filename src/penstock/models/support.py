"""Which values can occur in the next steps of a stream.

`prob` gives the probabilities of given values. A sum over all values, such as the probability that
two streams have the same one, needs their list. Values in the tails of a normal, with a mass of
1e-18 or less, are omitted.
"""

import functools
from typing import Any

import numpy as np

from .ar1 import Autoregression
from .cells import check_span, to_values
from .known import Known
from .model import History, Model, last, now
from .noise import TAIL
from .stationary import Stationary
from .trend import Trend
from .walk import Walk


@functools.singledispatch
def support(model: Model, most: int, history: History) -> np.ndarray:
    """Return the values that can occur within the next `most` steps, each once, in order.

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
    low, high = model.step.lowest, model.step.highest
    return _cells(here + min(most * low, low), here + max(most * high, high), model.unit)


@support.register
def _(model: Autoregression, most: int, history: Any) -> np.ndarray:
    ahead, unit = np.arange(1, most + 1), model.unit
    mean, reach = model.mean_after(ahead, history), TAIL * model.sd_after(ahead)
    low, high = np.floor((mean - reach).min() / unit), np.ceil((mean + reach).max() / unit)
    return _cells(int(low), int(high), unit)


def _cells(lowest: int, highest: int, unit: float) -> np.ndarray:
    check_span("the values that can occur", lowest, highest)
    return to_values(np.arange(lowest, highest + 1), unit)
