"""Crowded keys: all of their rows come, and only some of them may be kept."""

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from .hot import STEP


def may_be_kept(
    side: NDArray, time: Ints, number: Ints, within: int | None, crowd: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows may be kept, and for each row how many of its key one that is stands for.

    Of each key and side every g-th row, so that about `crowd` rows of a key are alive.

    number: of each row's key.

    >>> kept, stands = may_be_kept(np.zeros(6), np.arange(6), np.zeros(6, int), None, crowd=3)
    >>> kept.tolist(), stands.tolist()
    ([False, True, False, True, False, True], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    """
    rows = np.bincount(number)
    alive = rows if within is None else rows * _part_alive(time, within)
    stands = np.maximum(1.0, np.rint(STEP * alive / crowd) / STEP)[number]
    if not (stands > 1).any():
        return np.ones(len(time), bool), stands
    order = np.lexsort((side, number))
    group = (2 * number + side)[order].astype(np.int64)
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    each = stands[order]
    kept = np.empty(len(order), bool)
    kept[order] = np.floor((rank + 1) / each) > np.floor(rank / each)
    return kept, stands


def _part_alive(time: Ints, within: int) -> float:
    """Return which part of all rows is alive at an arrival, on average."""
    gone = np.searchsorted(time, time - within, side="left")
    return float((np.arange(1, len(time) + 1) - gone).mean() / max(1, len(time)))


def pairs_with(
    kept: NDArray[np.bool_], side: NDArray, number: Ints, time: Ints, within: int | None
) -> Ints:
    """Return with how many rows that may be kept each row matches; in (time, side) order.

    >>> kept, side = np.array([True, False, True, True]), np.array([0, 0, 1, 1])
    >>> pairs_with(kept, side, np.zeros(4, int), np.arange(4), within=2).tolist()
    [0, 0, 1, 0]
    """
    count = len(time)
    place, base = np.arange(count), number.astype(np.int64) * (count + 1)
    oldest = np.zeros(count, int) if within is None else np.searchsorted(time, time - within)
    found = np.zeros(count, np.int64)
    for one in (0, 1):
        mine, others = side == one, (side != one) & kept
        held = np.sort((base + place)[others])
        until, since = (np.searchsorted(held, (base + edge)[mine]) for edge in (place, oldest))
        found[mine] = until - since
    return found
