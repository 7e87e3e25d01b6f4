"""Tables on pages of their own, which return to the system as soon as they are dropped; stacks.

The allocator keeps freed memory and reuses it in pieces. Tables that grow leave holes
there that no larger table fits into: a memory of 100 MB had 25 MB of them. Small tables lie where
everything does.

A stack of small numbers, such as free slots, is one array; its height is kept in the first place.
"""

import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from .jit import jit

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


def make_stack(low: int, high: int, room: int) -> np.ndarray:
    """Return a stack of the numbers from `low` to `high` - 1, the lowest on top."""
    stack = zeros(room + 1, np.int32)
    stack[0] = high - low
    stack[1 : 1 + high - low] = np.arange(high - 1, low - 1, -1)
    return stack


def grow_stack(old: np.ndarray, room: int) -> np.ndarray:
    """Return the stack with the numbers up to `room` - 1 added beneath what it holds."""
    fresh = make_stack(len(old) - 1, room, room)
    height, added = int(old[0]), int(fresh[0])
    fresh[1 + added : 1 + added + height] = old[1 : 1 + height]
    fresh[0] = added + height
    return fresh


@jit
def pop(stack):
    top = stack[0]
    stack[0] = top - 1
    return np.int64(stack[top])


@jit
def push(stack, number):
    top = stack[0] + 1
    stack[0] = top
    stack[top] = number
