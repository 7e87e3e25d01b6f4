"""Tables on pages of their own, so that the system has them back as soon as they are dropped.

The allocator keeps what it is given back and gives it out in pieces. Tables that grow leave holes
there that no larger table fits into: a memory of 100 MB had 25 MB of them. Small tables lie where
everything does.
"""

import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

LARGE = 1 << 18  # bytes from which on a table has its own pages
HUGE = 1 << 22  # bytes from which on large pages are asked for, as NumPy does
ALONE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> np.ndarray:
    """Return a table of zeros, as `np.zeros` does.

    >>> zeros((2, 3), np.int8).tolist(), zeros(1 << 20).sum()
    ([[0, 0, 0], [0, 0, 0]], np.float64(0.0))
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * math.prod((shape,) if isinstance(shape, int) else shape)
    if size < LARGE or not ALONE:
        return np.zeros(shape, kind)
    pages = mmap.mmap(-1, size, flags=ALONE)
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8).view(kind).reshape(shape)


def full(shape: int | tuple[int, ...], value: Any, dtype: npt.DTypeLike) -> np.ndarray:
    """Return a table full of one value, as `np.full` does.

    >>> full(3, -1, np.int32).tolist()
    [-1, -1, -1]
    """
    table = zeros(shape, dtype)
    table[...] = value
    return table


def copied(old: np.ndarray, room: int) -> np.ndarray:
    """Return a table of `room` lines that begins with the old one; the rest is 0.

    >>> copied(np.array([[1, 2]]), 2).tolist()
    [[1, 2], [0, 0]]
    """
    table = zeros((room, *old.shape[1:]), old.dtype)
    table[: len(old)] = old
    return table
