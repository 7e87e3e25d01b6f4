"""Drop arrivals at random before anybody looks at them: what is joined is a sample of each stream.

Source: section 4.2 of the GDJ paper, "upon arrival a tuple [...] is dropped with a probability p";
decision 14 tells why such a tuple does not look for partners either.
"""

from typing import NamedTuple

import numpy as np

from ..core.jit import kernel
from ..core.rng import make_rng, mix, uniform
from ..errors import BadInput


class Dropping(NamedTuple):
    """How many arrivals are dropped, and the generator that draws which: one draw an arrival."""

    rate: float
    rng: np.ndarray  # uint64[1]


def make_dropping(rate: float, seed: int) -> Dropping:
    """Return what drops with probability `rate`; its draws are not those of a policy's generator.

    >>> make_dropping(1.0, seed=0)
    Traceback (most recent call last):
    penstock.errors.BadInput: drop must be from 0 to below 1, got 1.0
    """
    if not 0 <= rate < 1:
        raise BadInput(f"drop must be from 0 to below 1, got {rate}")
    rng = make_rng(~seed)
    _scramble(rng)  # a policy is seeded with the seed itself; far from it, draws never meet
    return Dropping(rate, rng)


def draw(dropping: Dropping, count: int) -> np.ndarray:
    """Return which of the next `count` arrivals are dropped: bool[count].

    >>> dropping = make_dropping(0.5, seed=1)
    >>> draw(dropping, 1000).sum() + draw(dropping, 1000).sum()
    np.int64(976)
    """
    dropped = np.zeros(count, np.bool_)
    if dropping.rate > 0:
        _draw(dropping.rng, dropping.rate, dropped)
    return dropped


@kernel
def _scramble(rng):
    rng[0] = mix(rng[0])


@kernel
def _draw(rng, rate, dropped):
    for i in range(len(dropped)):
        dropped[i] = uniform(rng) < rate
