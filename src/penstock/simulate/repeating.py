"""Streams that repeat themselves, drawn from the locality model of `profile.locality`.

*Dealt*, the two streams are one stream whose tuples go left and right in turn, so that a key that
is frequent now on one side is frequent on the other, as with orders and their trades. Otherwise the
streams are independent of each other.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

import numpy as np

from ..core.options import at_least
from ..errors import BadInput
from ..profile.locality import Locality
from .skewed import popularity
from .traces import JoinTrace, interleave


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

    >>> len(locality(1000, seed=1))
    2000
    """
    at_least("length", length, 1)
    model = falling(b, h, fall, domain, alpha)
    if dealt:
        stream = model.sample(2 * length, seed)
        streams = [stream[0::2], stream[1::2]]
    else:
        streams = [model.sample(length, seed, side) for side in (0, 1)]
    side, key, time = interleave(streams)
    return JoinTrace(side, key, time, name="locality", value=key)


def falling(b: float, h: int, fall: float, domain: int, alpha: float) -> Locality:
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
    return Locality(a * ((1 - b) / a.sum()), b, popularity(domain, alpha))
