"""A stream as numbers: keys by popularity rank, links between rows of one key, and stretches.

The most popular key has rank 0, the next one rank 1, and so on. Equally popular keys are ranked in
random order. If they were ranked by first appearance, the many keys that occur once would be
numbered by time, and every method that treats ranks as numbers would take that trend for locality.

A stretch is a sequence of consecutive rows. The locality model is fitted to the rows that precede
each row, so a few long stretches represent a stream, provided that the popularity of their keys is
known for the whole of it. A stream that is held as a whole is a single stretch.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadInput
from ..kernel.options import at_least
from ..kernel.rng import source
from ..numeric import Floats, Ints

LEAST = 2  # rows
TIES, ORDER = 0, 1  # random sources: of the order among equally popular keys, of permutations


class Ranked(NamedTuple):
    """A stream by popularity ranks."""

    rank: Ints  # int64[n]: the rank of each row's key, from 0
    counts: Ints  # int64[keys]: the number of rows of each rank; never increases


def rank_keys(keys: ArrayLike, seed: int = 0) -> Ranked:
    """Return the stream with each key replaced by its rank; reject streams without a profile.

    >>> rank_keys(["b", "a", "c", "a", "c", "a"])
    Ranked(rank=array([2, 0, 1, 0, 1, 0]), counts=array([3, 2, 1]))
    """
    ids = _numbered(np.asarray(keys))
    count = np.bincount(ids)
    check_varied(len(count), len(ids))
    order = np.lexsort((source(seed, TIES).random(len(count)), -count))
    rank = np.empty(len(count), np.int64)
    rank[order] = np.arange(len(count))
    return Ranked(rank[ids], count[order])


def check_varied(keys: int, rows: int) -> None:
    """Reject a stream of a single key; the key is not named, because it may be only a number."""
    if keys < 2:
        raise BadInput(
            "keys must take at least two values to have a profile, got one and the same key"
            f" in all {rows:,} rows; choose another column"
        )


def _numbered(keys: np.ndarray) -> Ints:
    """Return a number from 0 for each key; equal keys have equal numbers."""
    if keys.ndim != 1:
        raise BadInput(f"keys must have 1 dimension, got {keys.ndim}; join several columns to one")
    if len(keys) < LEAST:
        raise BadInput(f"a stream must hold at least {LEAST} rows, got {len(keys)}")
    _reject_nulls(keys)
    if keys.dtype == object:  # may not be sortable
        number: dict[Any, int] = {}
        return np.array([number.setdefault(key, len(number)) for key in keys.tolist()], np.int64)
    _, ids = np.unique(keys, return_inverse=True)
    return ids.astype(np.int64)


def _reject_nulls(keys: np.ndarray) -> None:
    if keys.dtype == object:
        # None, NaN, or pandas' NA, whose comparison with itself is not a truth value
        null = np.array([key is None or (key == key) is not True for key in keys.tolist()])
    elif keys.dtype.kind in "fcmM":
        null = keys != keys
    else:
        return
    if null.all():
        raise BadInput(
            f"keys must hold values, got null in every one of {len(keys)} rows;"
            " choose another column"
        )
    if null.any():
        raise BadInput(
            f"keys must have a value in every row, got null at row {int(np.argmax(null)) + 1};"
            " fill it in or drop the row"
        )


def no_numbers() -> Ints:
    """Return an empty array."""
    return np.zeros(0, np.int64)


def previous(keys: Ints) -> Ints:
    """Return the position of the preceding row with the same key, for each row; -1: none.

    >>> previous(np.array([7, 8, 7, 7])).tolist()
    [-1, -1, 0, 2]
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    before = np.full(len(keys), -1, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def permuted(keys: Ints, seed: int) -> Ints:
    """Return the same rows in random order: only the locality due to popularity remains."""
    return source(seed, ORDER).permutation(keys)


class Stretches(NamedTuple):
    """Stretches of a stream, one after the other."""

    key: Ints  # int64[n]: the number of each row's key, from 0
    before: Ints  # int64[n]: the preceding row of its key in the same stretch; -1: none
    starts: Ints  # int64[stretches + 1]: the first row of each stretch; at the end n
    share: Floats  # float64[keys]: the share of the whole stream that each key has
    rank: Floats  # float64[keys]: its popularity rank in the whole stream, from 1
    mean: float  # the mean rank of all rows of the whole stream

    def after_first(self, h: int) -> NDArray[np.bool_]:
        """Tell which rows have at least h preceding rows in their stretch."""
        place = np.arange(len(self.key))
        return place - np.repeat(self.starts[:-1], np.diff(self.starts)) >= h

    def each(self) -> Iterator["Stretches"]:
        """Yield every stretch on its own."""
        for start, end in zip(self.starts[:-1], self.starts[1:]):
            before = self.before[start:end]
            yield self._replace(
                key=self.key[start:end],
                before=np.where(before >= 0, before - start, -1),
                starts=np.array([0, end - start]),
            )

    def check_h(self, h: int) -> None:
        """Reject an h that is not below the length of the longest stretch."""
        at_least("h", h, 1)
        longest = int(np.diff(self.starts).max())
        if h >= longest:
            of = "stream" if len(self.starts) == 2 else "sampled stretches of the stream"
            raise BadInput(f"h must be below the length of the {of}, {longest} rows, got {h}")


def whole(rank: Ints, before: Ints | None = None) -> Stretches:
    """Return a stream that is known as a whole as one stretch; ranks start from 0.

    >>> whole(np.array([0, 1, 0])).share.round(2).tolist()
    [0.67, 0.33]
    """
    before = previous(rank) if before is None else before
    share = np.bincount(rank) / len(rank)
    starts = np.array([0, len(rank)])
    return Stretches(rank, before, starts, share, np.arange(1.0, len(share) + 1), rank.mean() + 1)


def link(key: Ints, starts: Ints, share: Floats, rank: Floats, mean: float) -> Stretches:
    """Return stretches of numbered keys, with the links between rows of the same key.

    >>> link(np.array([0, 1, 1, 0]), np.array([0, 2, 4]), np.ones(2), np.ones(2), 1.0).before
    array([-1, -1, -1, -1])
    """
    before = previous(key)
    begin = np.repeat(starts[:-1], np.diff(starts))
    return Stretches(key, np.where(before >= begin, before, -1), starts, share, rank, mean)
