"""The expected benefit of keeping a row in a cache, and L(d), how long rows are kept.

For a cache the benefit within d steps is the probability that the row is referenced at all: after
its first reference it would be fetched and offered anew anyway. (For a join it is the expected
number of matches.) L(d) is the probability that a row is still held d steps later; HEEB weights the
benefit of each step by it.

Source: lemma 1, corollary 1 and table 1 of Xie, Yang and Chen, "On Joining and Caching Stochastic
Streams" (SIGMOD 2005).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.worth import KINDS
from ..errors import BadInput
from ..numeric import Floats, harmonic
from .cells import positive
from .model import History, Model, Now, now, steps
from .stationary import Stationary

LARGEST = 1 << 26  # entries: a table of half a gigabyte
NEGLIGIBLE = 1e-9  # a probability that no longer counts
FARTHEST = 4096  # steps ahead that are considered at most


@dataclass(frozen=True)
class Lasting:
    """One of the forms of L: `exp` and `fixed` have a scale, alpha or a number of steps.

    >>> Lasting("exp", 2.0).of([1, 2]).round(3).tolist()
    [0.607, 0.368]
    >>> Lasting("fixed", 3).of([3, 4]).tolist()
    [1.0, 0.0]
    """

    kind: str = "exp"
    scale: float = 10.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"L must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.kind == "exp":
            positive("alpha", self.scale)
        elif self.kind == "fixed" and not (self.scale >= 1 and float(self.scale).is_integer()):
            raise BadInput(f"steps of a fixed L must be a whole number above 0, got {self.scale!r}")

    @property
    def converges(self) -> bool:
        """Whether the sum of L over all steps is finite, and so the benefit of any join."""
        return self.kind not in ("inf", "inv")

    @property
    def horizon(self) -> int:
        """The number of steps that count, or that are considered at most."""
        if self.kind == "exp":
            return min(FARTHEST, max(1, math.ceil(-self.scale * math.log(NEGLIGIBLE))))
        return int(self.scale) if self.kind == "fixed" else FARTHEST

    def of(self, d: Any) -> Floats:
        """Return L at steps d = 1, 2, ..."""
        ahead = np.asarray(d, np.float64)
        if self.kind == "exp":
            return np.exp(-ahead / self.scale)
        if self.kind == "fixed":
            return (ahead <= self.scale).astype(np.float64)
        return 1 / ahead if self.kind == "inv" else np.ones(ahead.shape)

    def between(self, first: float, last: float) -> float:
        """Return the sum of L over the steps after `first`, up to `last`.

        >>> Lasting("fixed", 3).between(1, 9)
        2.0
        >>> round(Lasting("exp", 2.0).between(0, 2), 3)
        0.974
        """
        if self.kind == "exp":
            rate = 1 / self.scale
            return math.exp(-first * rate) * math.expm1(-(last - first) * rate) / -math.expm1(rate)
        if self.kind == "fixed":
            return float(min(last, self.scale) - min(first, self.scale))
        return harmonic(last) - harmonic(first) if self.kind == "inv" else float(last - first)


def alpha_of(lifetime: float) -> float:
    """Return the alpha whose mean lifetime, 1 / (1 - exp(-1/alpha)), is the given one."""
    if not lifetime > 1:
        raise BadInput(f"lifetime must be above 1 step, got {lifetime!r}")
    return -1 / math.log1p(-1 / lifetime)


def caching(model: Model, v: Any, d: Any, history: History) -> Floats:
    """Return the probability that value v is referenced within the next d references.

    >>> caching(Stationary([1, 2], [0.5, 0.5]), 1, [1, 2, 3], history=[]).tolist()
    [0.5, 0.75, 0.875]
    """
    check_single(history)
    if isinstance(model, Stationary):
        return np.asarray(1 - (1 - model.prob(v, d, history)) ** np.asarray(d))[()]
    if model.independent:
        return gathered(lambda v, d: 1 - np.cumprod(1 - model.prob(v, d, history), axis=1), v, d)
    return gathered(lambda v, d: _first_visits(model, v, d, history), v, d)


def check_single(history: History) -> None:
    """Reject the ends of several histories."""
    end = now(history)
    if np.ndim(end.time) or np.ndim(end.value):
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
        if not model.timeless:
            again = model.prob(v, ahead[:, : last - 1 - i], Now(time + i + 1, v))
        first[:, i + 1 :] -= first[:, i : i + 1] * again[:, : last - 1 - i]
    return np.minimum(np.cumsum(np.maximum(first, 0.0), axis=1), 1.0)
