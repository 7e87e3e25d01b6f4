"""Checks of whole numbers, single or many: steps ahead, times, counts."""

from typing import Any

import numpy as np

from ..errors import BadInput


def whole(name: str, value: Any, lowest: int) -> Any:
    """Return whole numbers of at least `lowest` as they came, single or as an array of int64.

    >>> whole("d", [1, 2], lowest=1)
    array([1, 2])
    """
    many = np.asarray(value)
    if many.dtype.kind not in "iu":
        raise BadInput(f"{name} must be a whole number of at least {lowest}, got {value!r}")
    if many.size and many.min() < lowest:
        raise BadInput(f"{name} must be a whole number of at least {lowest}, got {many.min()}")
    return int(many) if many.ndim == 0 else many.astype(np.int64)


def steps(d: Any) -> np.ndarray:
    """Return how many steps ahead to look: at least one.

    >>> steps(3)
    array(3)
    """
    return np.asarray(whole("d (steps ahead)", d, 1))
