"""The bytes of arrays, wherever they lie."""

from typing import Any

import numpy as np


def nbytes(*parts: Any) -> int:
    """Return the bytes of all arrays in (nested) tuples, lists and dictionaries, each counted once.

    >>> table = np.zeros(10)
    >>> nbytes((table, table[2:5]), [np.zeros(1, np.int8)])
    81
    """
    found: dict[int, int] = {}
    _collect(parts, found)
    return sum(found.values())


def _collect(part: Any, found: dict[int, int]) -> None:
    if isinstance(part, np.ndarray):
        while isinstance(part.base, np.ndarray):
            part = part.base
        found[id(part)] = part.nbytes
    elif isinstance(part, (tuple, list)):
        for each in part:
            _collect(each, found)
    elif isinstance(part, dict):
        _collect(list(part.values()), found)
