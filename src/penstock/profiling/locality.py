"""The locality model: a tuple repeats one of the last h, or is drawn afresh.

    x_n = x_{n-i} with probability a_i, i = 1 .. h;  y, drawn from P, with probability b

b is how much of the locality is popularity alone: 1 for independent draws. How its parameters are
found in a stream is in `squares.py`, as the paper has it, and in `likelihood.py`.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import kernel
from ..core.options import at_least
from ..core.rng import source
from ..errors import BadInput
from ..numeric import Ints

SLACK = 1e-9  # how far sums of probabilities may be from 1

Floats = NDArray[np.float64]


class Weights(NamedTuple):
    """What an estimator says of a_1 .. a_h and b."""

    a: Floats  # float64[h]
    b: float

    @property
    def h(self) -> int:
        """How far back the model looks."""
        return len(self.a)


def check_h(h: int, length: int, of: str = "stream") -> None:
    """Refuse to look back further than the stream goes.

    >>> check_h(50, 20)
    Traceback (most recent call last):
    penstock.errors.BadInput: h must be below the length of the stream, 20 tuples, got 50
    """
    at_least("h", h, 1)
    if h >= length:
        raise BadInput(f"h must be below the length of the {of}, {length} tuples, got {h}")


class Locality:
    """The model with known parameters; keys are 0 .. len(popularity) - 1.

    >>> Locality(a=[0.9], b=0.1, popularity=[0.5, 0.5]).sample(12, seed=1).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, a: ArrayLike, b: float, popularity: ArrayLike) -> None:
        self.a = np.atleast_1d(np.asarray(a, np.float64))
        self.b = float(b)
        self.popularity = np.asarray(popularity, np.float64)
        _check_sum("a_1 .. a_h and b", np.append(self.a, self.b))
        _check_sum("popularity", self.popularity)

    def __repr__(self) -> str:
        return f"Locality(h={len(self.a)}, b={self.b:g}, keys={len(self.popularity)})"

    def sample(self, length: int, seed: int, stream: int = 0) -> Ints:
        """Return a stream; a tuple that would repeat one before the first is drawn afresh.

        Streams of another number are drawn independently.
        """
        at_least("length", length, 0)
        random = source(seed, stream) if stream else source(seed)
        key = random.choice(len(self.popularity), length, p=self.popularity)
        back = random.choice(len(self.a) + 1, length, p=np.append(self.b, self.a))
        _repeat(key, back)
        return key


@kernel
def _repeat(key, back):
    for now in range(key.shape[0]):
        if 0 < back[now] <= now:
            key[now] = key[now - back[now]]


def _check_sum(name: str, p: Floats) -> None:
    if p.ndim != 1 or not (p >= 0).all() or abs(p.sum() - 1) > SLACK:
        raise BadInput(
            f"{name} must be probabilities that sum to 1, got a sum of {p.sum():g}"
            f" and a smallest of {p.min(initial=1):g}"
        )
