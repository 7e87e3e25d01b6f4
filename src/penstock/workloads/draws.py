"""What every generator shares: a random source for each stream, and checks of its arguments."""

from numbers import Integral

import numpy as np

from ..errors import BadInput


def source(seed: int, *path: int) -> np.random.Generator:
    """Return the random source of one stream: its own whatever the other streams draw.

    >>> a, b = source(1, 0), source(1, 1)
    >>> a.random() == source(1, 0).random(), a.random() == b.random()
    (True, False)
    """
    at_least("seed", seed, 0)
    return np.random.default_rng([seed, *path])


def at_least(name: str, value: int, lowest: int) -> None:
    """Refuse a value that is no whole number or is too small."""
    if not isinstance(value, Integral) or value < lowest:
        raise BadInput(f"{name} must be a whole number of at least {lowest}, got {value!r}")
