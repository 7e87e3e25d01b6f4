"""Streams that repeat themselves: a tuple is one of the last h again, or is drawn afresh.

    x_n = x_{n-i} with probability a_i, i = 1 .. h;  y, drawn from P, with probability b

`locality` makes two streams of it. *Dealt*, they are one stream whose tuples go left and right in
turn, so that what is hot on one side is hot on the other, as with orders and their trades; else
they know nothing of each other.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import kernel
from ..errors import BadInput
from .draws import at_least, source
from .trace import Ints, JoinTrace, LookupTrace, interleave

SLACK = 1e-9  # how far sums of probabilities may be from 1

Floats = NDArray[np.float64]


def locality(
    length: int,
    seed: int,
    *,
    b: float = 0.3,
    h: int = 50,
    fall: float = 15.0,
    domain: int = 500,
    alpha: float = 0.0,
    dealt: bool = True,
) -> JoinTrace:
    """Return `length` steps of two streams that repeat themselves, one tuple of each a step.

    b: the share of tuples that are drawn afresh; 1: all of them.
    h: how far back a tuple may be repeated.
    fall: how fast the chance to be repeated falls: a_i is proportional to exp(-i / fall).
    domain: how many keys there are.
    alpha: the Zipf skew of their popularity; 0 makes all equally popular.
    dealt: the streams are one, dealt in turn.

    >>> trace = locality(1000, seed=1)
    >>> trace.steps, len(trace)
    (1000, 2000)
    """
    at_least("length", length, 1)
    model = falling(b, h, fall, domain, alpha)
    if dealt:
        stream = model.sample(2 * length, seed)
        streams = [stream[0::2], stream[1::2]]
    else:
        streams = [model.sample(length, seed, side) for side in (0, 1)]
    side, key, time = interleave(streams)
    return JoinTrace(side, key, time, labels=("R", "S"), name="locality", value=key)


def locality_references(
    length: int,
    seed: int,
    *,
    b: float = 0.3,
    h: int = 50,
    fall: float = 15.0,
    domain: int = 500,
    alpha: float = 0.0,
) -> LookupTrace:
    """Return one stream that repeats itself, as references.

    >>> len(locality_references(9, seed=1))
    9
    """
    at_least("length", length, 1)
    key = falling(b, h, fall, domain, alpha).sample(length, seed)
    return LookupTrace(key, "locality", value=key)


def falling(b: float, h: int, fall: float, domain: int, alpha: float) -> "Locality":
    """Return the model whose a_i fall as exp(-i / fall), over keys of Zipf popularity.

    >>> falling(b=0.3, h=50, fall=15, domain=500, alpha=0)
    Locality(h=50, b=0.3, keys=500)
    """
    at_least("h", h, 1)
    at_least("domain", domain, 1)
    if not 0 <= b <= 1:
        raise BadInput(f"b must be from 0 to 1, got {b}")
    if not fall > 0:
        raise BadInput(f"fall must be above 0, got {fall}")
    a = np.exp(-np.arange(1, h + 1) / fall)
    popularity = np.arange(1.0, domain + 1) ** -alpha
    return Locality(a * ((1 - b) / a.sum()), b, popularity / popularity.sum())


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
