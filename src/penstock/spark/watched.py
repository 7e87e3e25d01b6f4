"""Rows of a bucket, and those of them under watch, as columns."""

from typing import NamedTuple

import numpy as np


class Placed(NamedTuple):
    """Rows with their places among the rows of their sides."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    at: np.ndarray  # int64

    def pick(self, chosen: np.ndarray) -> "Placed":
        """Return some of them, in this order."""
        return Placed(*(column[chosen] for column in self))


def placed(
    side: np.ndarray, key: np.ndarray, time: np.ndarray, at: np.ndarray | None = None
) -> Placed:
    """Return rows; without `at` they are all rows of their sides, in their order."""
    if at is None:
        at = np.empty(len(side), np.int64)
        for number in np.unique(side):
            at[side == number] = np.arange((side == number).sum())
    return Placed(*(np.asarray(column, np.int64) for column in (side, key, time, at)))


class Watched(NamedTuple):
    """One entry per watched row."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    at: np.ndarray  # int64: its position among the rows of its side, -1 once it is not held
    chance: np.ndarray  # float64: how likely it was to be watched
    met: np.ndarray  # int64: later rows that it matches
    lost: np.ndarray  # int64: those of them that the join did not find

    def pick(self, chosen: np.ndarray) -> "Watched":
        """Return some of them."""
        return Watched(*(column[chosen] for column in self))

    def and_more(self, more: "Watched") -> "Watched":
        """Return these, then some more."""
        return Watched(*(np.concatenate(both) for both in zip(self, more, strict=True)))


def begun(rows: Placed, chance: np.ndarray) -> Watched:
    """Return rows whose watch begins."""
    none = np.zeros(len(rows.key), np.int64)
    return Watched(*rows, chance, none, none.copy())


def no_rows() -> Watched:
    """Return no rows."""
    none = np.empty(0, np.int64)
    return begun(Placed(none, none, none, none), np.empty(0))
