"""Rows of a bucket as Arrow tables and NumPy columns.

Key (where it stands for itself) and time live in the engine alone; the payload table holds the
other columns, one row per tuple.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .alike import concatenated
from .pieces import column_bytes
from .plan import Input
from .wide import narrowed, take_column, widened

WHOLE = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}


class Side(NamedTuple):
    """The rows of one input: those held before, then those of this micro-batch."""

    payload: pa.Table
    key: np.ndarray  # int64
    time: np.ndarray  # int64 microseconds
    null: np.ndarray  # bool: the key is missing
    held: int  # how many of them were held before

    @property
    def new(self) -> int:
        return len(self.key) - self.held


def read_side(
    source: Input, key: np.ndarray, time: np.ndarray, payload: pa.Table, new: list
) -> Side:
    """Put the tables of a micro-batch behind the rows held."""
    keys, times, nulls, payloads = [key], [time], [np.zeros(len(key), bool)], [payload]
    for table in new:
        column = table.column(0).combine_chunks()
        keys.append(column.fill_null(0).to_numpy(zero_copy_only=False))
        nulls.append(column.is_null().to_numpy(zero_copy_only=False))
        times.append(as_microseconds(table.column(source.time)))
        payloads.append(table.select([name for name in source.names if source.pays(name)]))
    columns = (np.concatenate(keys), np.concatenate(times), np.concatenate(nulls))
    return Side(together(payloads), *columns, len(key))


def column_of(source: Input, side: Side, name: str, rows: np.ndarray) -> Any:
    """Return a column of some rows, wherever it lives."""
    if source.pays(name):
        return take_column(side.payload, name, pa.array(rows))
    kind = source.types[source.names.index(name)]
    if name == source.time:
        zone = None if kind == "timestamp_ntz" else "UTC"
        return pa.array(side.time[rows]).view(pa.timestamp("us", zone))
    return pa.array(side.key[rows]).cast(WHOLE[kind])


def as_microseconds(column: pa.ChunkedArray) -> np.ndarray:
    """Return timestamps as whole microseconds."""
    array = column.combine_chunks()
    if not pa.types.is_timestamp(array.type) or array.type.unit != "us":
        array = array.cast(pa.timestamp("us", getattr(array.type, "tz", None)))
    return array.view(pa.int64()).to_numpy(zero_copy_only=False)


def together(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables; one without columns says nothing about its rows."""
    some = [table for table in tables if table.num_columns]
    return concatenated(widened(some)).combine_chunks() if some else pa.table({})


def take_rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Return some rows of a table, each at most once; one without columns stays as it is."""
    if not table.num_columns:
        return table
    return narrowed(table.take(pa.array(rows)).combine_chunks())


def row_bytes(table: pa.Table, rows: int) -> np.ndarray:
    """Return about how many bytes each row takes: texts and lists exactly, the rest on average."""
    total = np.zeros(rows, np.int64)
    if rows:
        for column in table.columns:
            total += column_bytes(column)
    return total
