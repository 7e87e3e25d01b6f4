"""A stack of small numbers in one array; its height is kept in the first place."""

import numpy as np

from .jit import jit
from .pages import zeros


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
