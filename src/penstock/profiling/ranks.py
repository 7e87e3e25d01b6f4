"""Keys of any kind turned into their places in the popularity profile, as the paper does.

The most popular key becomes 0, the next 1, and so on. Keys that are equally popular are put in
random order: by first appearance the many keys that come once would be numbered by time, and that
trend would pass for locality in everything that takes ranks for numbers.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.rng import source
from ..errors import BadInput
from ..numeric import Ints

LEAST = 2  # tuples
TIES = 0  # the random source that orders equals; permutations draw from another


class Ranked(NamedTuple):
    """A stream by popularity ranks."""

    rank: Ints  # int64[n]: of each tuple's key, from 0
    counts: Ints  # int64[keys]: how often the key of each rank comes; never rises


def rank_keys(keys: ArrayLike, seed: int = 0) -> Ranked:
    """Return the stream with each key replaced by its rank; refuse streams that have no profile.

    >>> rank_keys(["b", "a", "c", "a", "c", "a"])
    Ranked(rank=array([2, 0, 1, 0, 1, 0]), counts=array([3, 2, 1]))
    """
    ids = _numbered(np.asarray(keys))
    count = np.bincount(ids)
    if len(count) == 1:  # which one it is cannot be said: of a file or a frame this is its number
        raise BadInput(
            "keys must take at least two values to have a profile, got one and the same key"
            f" in all {len(ids):,} rows; choose another column"
        )
    order = np.lexsort((source(seed, TIES).random(len(count)), -count))
    rank = np.empty(len(count), np.int64)
    rank[order] = np.arange(len(count))
    return Ranked(rank[ids], count[order])


def _numbered(keys: np.ndarray) -> Ints:
    """Return a number from 0 for each key, equal where keys are."""
    if keys.ndim != 1:
        raise BadInput(f"keys must have 1 dimension, got {keys.ndim}; join several columns to one")
    if len(keys) < LEAST:
        raise BadInput(f"a stream must hold at least {LEAST} tuples, got {len(keys)}")
    _refuse_gaps(keys)
    if keys.dtype == object:  # may not be sortable
        number: dict[Any, int] = {}
        return np.array([number.setdefault(key, len(number)) for key in keys.tolist()], np.int64)
    _, ids = np.unique(keys, return_inverse=True)
    return ids.astype(np.int64)


def _refuse_gaps(keys: np.ndarray) -> None:
    if keys.dtype == object:
        # None, NaN, or pandas' NA, which cannot even be asked whether it equals itself
        gap = np.array([key is None or (key == key) is not True for key in keys.tolist()])
    elif keys.dtype.kind in "fcmM":
        gap = keys != keys
    else:
        return
    if gap.all():
        raise BadInput(
            f"keys must hold values, got null in every one of {len(keys)} rows;"
            " choose another column"
        )
    if gap.any():
        raise BadInput(
            f"keys must have a value in every row, got null at row {int(np.argmax(gap)) + 1};"
            " fill it in or drop the row"
        )
