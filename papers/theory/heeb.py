"""HEEB, the heuristic of estimated expected benefit, by its definition and step by step.

H of a tuple is the sum over all steps to come of the benefit it is expected to bring then, times
the chance L that it is still held. `direct` is that sum. The others reach the same number from one
that is known: from the step before (corollaries 3 and 4), or from another value's (corollary 5).
What a policy uses are tables of H, made once for a model: `penstock/models/benefit.py`.

Source: sections 5.3 and 6.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from papers.theory.benefit import caching as caching_benefit
from penstock.errors import BadInput
from penstock.models import Model, Now, Trend
from penstock.models.benefit import Lasting
from penstock.numeric import Floats


def direct(
    model: Model,
    v: Any,
    history: ArrayLike | Now,
    lasting: Lasting,
    *,
    caching: bool = False,
    horizon: int | None = None,
) -> Floats:
    """Return H of values v by its definition, `horizon` steps ahead.

    `model` and `history` are those of the stream that v waits for.

    >>> from penstock.models import Stationary
    >>> direct(Stationary([1, 2], [0.3, 0.7]), [1, 2], [], Lasting("fixed", 10)).round(9).tolist()
    [3.0, 7.0]
    """
    ahead = np.arange(1, (lasting.horizon if horizon is None else horizon) + 1)
    value = np.atleast_1d(np.asarray(v))
    if caching:
        total = caching_benefit(model, value[:, None], ahead[None, :], history)
        gain = np.diff(total, axis=1, prepend=0.0)
    else:
        gain = np.asarray(model.prob(value[:, None], ahead[None, :], history))
    return (gain @ lasting.of(ahead)).reshape(np.shape(v))[()]


def later_joining(h: Any, p: Any, alpha: float) -> Any:
    """Return H a step later, for independent streams (corollary 3).

    `p` was the chance that the partner brought the value in that step.
    """
    return math.exp(1 / alpha) * h - p


def later_caching(h: Any, p: Any, alpha: float) -> Any:
    """Return H a step later, for an independent reference stream (corollary 4).

    `p` was the chance that the value was referenced in that step; it was not.
    """
    return (math.exp(1 / alpha) * h - p) / (1 - p)


def earlier_joining(h: Any, p: Any, alpha: float) -> Any:
    """Return H a step earlier; unlike `later_joining` it loses nothing to rounding."""
    return math.exp(-1 / alpha) * (h + p)


def earlier_caching(h: Any, p: Any, alpha: float) -> Any:
    """Return H a step earlier; unlike `later_caching` it loses nothing to rounding."""
    return math.exp(-1 / alpha) * (p + (1 - p) * h)


def from_neighbour(
    model: Trend, known: int, h: float, v: int, time: int, alpha: float, caching: bool = False
) -> float:
    """Return H of v from H of the value `known` at the same time (corollary 5).

    On a trend of a cells a step, v sees at `time` what v + a k sees k steps later. So the one
    leads to the other by steps in time; the distance between them must be a multiple of a.
    """
    slope = model.slope
    steps = (known - v) / slope if slope else math.inf
    if steps != round(steps):
        raise BadInput(
            f"v and known must lie a multiple of the slope {model.slope:g} apart, got {v} "
            f"and {known}"
        )
    later, earlier = (
        (later_caching, earlier_caching) if caching else (later_joining, earlier_joining)
    )
    # H of `known` at `time` is that of v at `time - steps`; from there v steps on, or back.
    start = time - round(steps)
    for now in range(start, time):
        h = later(h, float(model.prob(v, 1, Now(now))), alpha)
    for now in range(start, time, -1):
        h = earlier(h, float(model.prob(v, 1, Now(now - 1))), alpha)
    return h
