"""The rows under watch, and how likely a row is watched: the more, the more partners it may meet.

A row of a frequent key, or of the rarer of two sides, may have a thousand partners. Where every row
had the same chance, one such row in the sample, or none, would decide the estimate. So each row
has at least the share that was asked for as its chance, and more in proportion to how often its
key came lately on the other side. Frequencies are counted by a hash of the key, so that they take
little memory: two keys that share a count change chances, which are known anyway, and no estimate.
"""

from typing import NamedTuple, TypeVar

import numpy as np

from ...kernel.rng import hashed, make_rng, uniforms

UNLIMITED = 1 << 60  # microseconds that no row is late by
CELLS = 256  # counts per stream
FIRST_BYTES = 8 * CELLS  # that the counts of a stream take
LATELY = 65_536  # rows after which all counts are halved
SALT = np.uint64(0x2545F4914F6CDD1D)  # counts must not follow the buckets


class Arrived(NamedTuple):
    """Rows of a bucket, by number."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64; in a band join int64[n, 2], see `kernel.band`
    time: np.ndarray  # int64
    row: np.ndarray  # int64: its number


class WatchedRows(NamedTuple):
    """One entry per watched row."""

    side: np.ndarray  # int64
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    row: np.ndarray  # int64: its number; -1: it is held no more, and was not renumbered
    chance: np.ndarray  # float64: how likely it was to be watched
    met: np.ndarray  # int64: later rows that it matches
    lost: np.ndarray  # int64: those of them that the join did not find


Table = TypeVar("Table", bound=tuple)  # columns of equal length


def pick(table: Table, chosen: np.ndarray) -> Table:
    """Return some lines of a table, in this order."""
    return type(table)(*(column[chosen] for column in table))


def together(table: Table, more: Table) -> Table:
    """Return the lines of a table, then some more."""
    return type(table)(*(np.concatenate(both) for both in zip(table, more, strict=True)))


def begun(rows: Arrived, chance: np.ndarray) -> WatchedRows:
    """Return rows whose watch begins."""
    none = np.zeros(len(rows.key), np.int64)
    return WatchedRows(*rows, chance, none, none.copy())


def renumbered(row: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the new numbers of rows, -1 for those that are not among the old ones, which ascend.

    >>> renumbered(np.array([7, 5, 4]), np.array([4, 7]), np.array([0, 1])).tolist()
    [1, -1, 0]
    """
    if not len(old):
        return np.full(len(row), -1, np.int64)
    place = np.minimum(np.searchsorted(old, row), len(old) - 1)
    return np.where(old[place] == row, new[place], -1)


class Chances:
    """Draws the rows to watch of one bucket."""

    def __init__(self, share: float, partner: np.ndarray, seed: int):
        self.share = share
        self.partner = partner  # of each stream
        self.counts = np.zeros((len(partner), CELLS), np.int64)
        self.rng = make_rng(seed)

    def draw(self, stream: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the rows to watch, and how likely each of them was."""
        cell = (hashed(key, SALT) % np.uint64(CELLS)).astype(np.int64)
        np.add.at(self.counts, (stream, cell), 1)
        chance = np.minimum(1.0, self.share * np.maximum(1.0, self._weights(stream, cell)))
        drawn = uniforms(self.rng, len(key))
        if self.counts.sum() > LATELY:
            self.counts //= 2
        return drawn < chance, chance

    def _weights(self, stream: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Return how often each key came on the other side, beside the mean over all rows."""
        others = self.counts[self.partner]
        mean = (self.counts * others).sum() / max(1, self.counts.sum())
        return others[stream, cell] / mean if mean > 0 else np.ones(len(cell))

    def save(self) -> dict[str, np.ndarray]:
        """Return what is remembered as plain arrays."""
        return {"counts": self.counts.astype(np.int32), "rng": self.rng}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what was saved."""
        self.counts = saved["counts"].astype(np.int64)
        self.rng = np.array(saved["rng"])
