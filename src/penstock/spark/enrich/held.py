"""The rows of the relation that a bucket has: those cached, and those fetched for the moment."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..rows import take_rows, together


class Rows(NamedTuple):
    """One row per key; a key that the relation lacks has a row of nulls."""

    table: pa.Table  # `numbered`: the key, unless it stands for itself, then the wanted columns
    found: np.ndarray  # bool[n]: the relation has it
    sent: np.ndarray  # int64[n]: when it was asked for, in microseconds

    def __len__(self) -> int:
        return len(self.found)

    def take(self, which: np.ndarray) -> "Rows":
        """Return some of the rows, each at most once."""
        return Rows(take_rows(self.table, which), self.found[which], self.sent[which])

    def plus(self, more: "Rows") -> "Rows":
        """Return these rows and then some more."""
        if not len(self):
            return more
        return Rows(
            together([self.table, more.table]),
            np.concatenate([self.found, more.found]),
            np.concatenate([self.sent, more.sent]),
        )


def numbered(*tables: pa.Table) -> pa.Table:
    """Return all columns as a table: by their places, since names of two sources may be equal."""
    fields = [field for table in tables for field in table.schema]
    schema = pa.schema([field.with_name(str(place)) for place, field in enumerate(fields)])
    return pa.Table.from_arrays([each for table in tables for each in table.columns], schema=schema)


class Held(NamedTuple):
    """The cached rows, in the order of the engine's slots."""

    rows: Rows
    place: np.ndarray  # int64[slots]: which row belongs to a slot


def held_in(slots: np.ndarray, rows: Rows) -> Held:
    """Return rows as those of the given slots, one by one."""
    place = np.zeros(1 + int(slots.max(initial=0)), np.int64)
    place[slots] = np.arange(len(slots))
    return Held(rows, place)


def place_of(held: Held, slots: np.ndarray) -> np.ndarray:
    """Return the row of each slot; that of a slot which holds none yet means nothing."""
    return held.place[np.where(slots < len(held.place), slots, 0)]
