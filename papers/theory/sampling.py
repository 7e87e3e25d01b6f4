"""Streams drawn from models."""

from functools import singledispatch
from itertools import accumulate
from typing import Any

import numpy as np

from penstock.kernel.options import at_least
from penstock.kernel.rng import source
from penstock.models import Discrete, Stationary, Trend, Walk
from penstock.models.autoregression import Autoregression
from penstock.models.model import Past, now


def sample(model: Any, length: int, seed: int, history: Past = ()) -> np.ndarray:
    """Return `length` values: a stream from its start, or the continuation of a history.

    >>> sample(Trend(1, 5, Discrete.uniform(0)), 3, seed=1).tolist()
    [5, 6, 7]
    """
    at_least("length", length, 0)
    return _drawn(model, length, seed, history)


@singledispatch
def _drawn(model: Any, length: int, seed: int, history: Past) -> np.ndarray:
    found: np.ndarray = model.sample(length, seed, history)  # a model that draws its own values
    return found


@_drawn.register
def _(model: Stationary, length: int, seed: int, history: Past) -> np.ndarray:
    now(history)
    return model.values[Discrete(0, model.probabilities).draw(source(seed), length)]


@_drawn.register
def _(model: Trend, length: int, seed: int, history: Past) -> np.ndarray:
    time = now(history).time + 1 + np.arange(length)
    return model.centre(time) + model.noise.draw(source(seed), length)


@_drawn.register
def _(model: Walk, length: int, seed: int, history: Past) -> np.ndarray:
    """Continue a walk; without a history it begins at 0."""
    moves = model.step.draw(source(seed), length)
    here = now(history).value
    if here is None:
        here, moves[:1] = 0, 0
    return here + np.cumsum(moves)


@_drawn.register
def _(model: Autoregression, length: int, seed: int, history: Past) -> np.ndarray:
    """Continue a stream; without a history, it begins as in the long run."""
    end = now(history)
    push = model.sigma * source(seed).standard_normal(length)
    off = 0.0
    if end.value is None:
        push[:1] /= np.sqrt(1 - model.phi**2)
    else:
        off = float(end.value - model.season(end.time))
    course = accumulate(push.tolist(), lambda x, by: model.phi * x + by, initial=off)
    x = model.season(end.time + 1 + np.arange(length)) + np.array(list(course)[1:])
    return np.rint(x).astype(np.int64)
