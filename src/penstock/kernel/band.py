"""Bands: values that match when they lie at most so far apart, found through cells of that width.

A tuple is held once, under the cell of its value, and a newcomer looks into its own cell and the
two beside it: values at most `near` apart never lie further apart than that. What it finds there
is compared exactly, so that the width of a cell decides about time alone.

A tuple of a band join has two key columns. The first is what it is held under: the number of its
cell, added to 64 bits that stand for columns which must be equal (0 where there are none). The
second is the value: a whole number, or the bits of a float. Cells of floats are a little wider than
`near`, by more than the quotient of two floats can be off; beyond `FARTHEST` cells from 0, where
that no longer holds, all values share the outermost cell.
"""

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from .jit import jit
from .rng import hashed

WHOLE, FLOAT = "whole", "float"
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# Two quotients of `near` / `wider` = 16/17 differ by less than 1, as each is off by 2**-53 of it.
WIDER, FARTHEST = 1.0625, 2.0**47
SALT = np.uint64(0x8CB92BA72F3D8DD7)


class Band(NamedTuple):
    """How far apart values may lie: an int for whole numbers, compared exactly, else a float."""

    near: int | float

    @property
    def kind(self) -> str:
        """What a kernel is compiled for."""
        return WHOLE if isinstance(self.near, int) else FLOAT

    @property
    def bits(self) -> int:
        """`near` as kernels read it."""
        if isinstance(self.near, int):
            return self.near
        return int(np.float64(self.near).view(np.int64))

    def cells(self, value: np.ndarray) -> np.ndarray:
        """Return the cells of values as `read` returns them: int64[n].

        >>> Band(5).cells(np.array([-1, 0, 4, 5])).tolist()
        [-1, 0, 0, 1]
        """
        if isinstance(self.near, int):
            return value // max(1, self.near)
        width = max(self.near * WIDER, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            cell = np.floor(value.view(np.float64) / width)
        return np.clip(cell, -FARTHEST, FARTHEST).astype(np.int64)

    def read(self, value: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return values as 64 bits each, and which of them match nothing: NaN and infinities.

        >>> Band(0.5).read([2.5, float("nan")])[1].tolist()
        [False, True]
        """
        given = np.asarray(value)
        whole = isinstance(self.near, int)
        fits = np.can_cast(given.dtype, np.int64 if whole else np.float64)
        if given.size and not (fits and given.dtype.kind in "iuf"):
            raise BadInput(
                f"near={self.near!r} compares {'whole numbers' if whole else 'floats'}, and value "
                f"has {given.dtype}; pass near={float(self.near)!r} for floats, or cast value"
            )
        if whole:
            return given.astype(np.int64), np.zeros(given.shape, bool)
        floats = given.astype(np.float64)
        absent = ~np.isfinite(floats)
        return np.where(absent, 0.0, floats).view(np.int64), absent

    def keys(self, key: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the key columns of tuples, whose equal columns have these 64 bits each."""
        return np.stack([key + self.cells(value), value], axis=1)

    def equal(self, keys: np.ndarray) -> np.ndarray:
        """Return the 64 bits of the equal columns again, from key columns."""
        return np.asarray(keys[:, 0] - self.cells(np.ascontiguousarray(keys[:, 1])))

    def near_to(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return which values, as `read` returns them, are near: bool[n]."""
        if isinstance(self.near, int):
            high, low = np.maximum(one, other), np.minimum(one, other)
            return (high < LEAST + self.near) | (low >= high - self.near)
        with np.errstate(over="ignore"):  # infinitely far apart is not near
            apart = np.abs(one.view(np.float64) - other.view(np.float64))
        return np.asarray(apart <= self.near)


def make_band(near: Any) -> Band | None:
    """Return the band of a join; None: keys must be equal, and nothing else.

    >>> make_band(0.0)
    Traceback (most recent call last):
    penstock.errors.BadInput: near must be above 0, got 0.0; for equal values make them the key
    """
    if near is None:
        return None
    if not isinstance(near, Real) or isinstance(near, bool) or not 0 <= float(near) < math.inf:
        raise BadInput(f"near must be a number above 0, got {near!r}")
    if isinstance(near, Integral):
        whole = int(near)
        if whole > MOST:
            raise BadInput(f"near must be at most {MOST} for whole numbers, got {near!r}")
        return Band(whole)
    if near == 0:
        raise BadInput(f"near must be above 0, got {near!r}; for equal values make them the key")
    return Band(float(near))


def scrambled(key: npt.ArrayLike) -> np.ndarray:
    """Return 64 bits for each key that lie far apart, so that cells can be added to them."""
    return hashed(np.asarray(key, np.int64), SALT).view(np.int64)


@jit
def _are_near(one, other, near):
    """Return True: without a band every two values are near enough."""
    return True


@jit
def _are_near_whole(one, other, near):
    high, low = max(one, other), min(one, other)
    return high < LEAST + near or low >= high - near


@jit
def _are_near_floats(one, other, near):
    return abs(one.view(np.float64) - other.view(np.float64)) <= near.view(np.float64)


# By `Form.band`: `is_near(one, other, near)` of two values and `Band.bits`, for kernels.
NEARNESS = {"": _are_near, WHOLE: _are_near_whole, FLOAT: _are_near_floats}
