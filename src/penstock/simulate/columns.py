"""The columns of a file as integers and numbers: keys, sides, times, values.

What a column holds becomes the integers that the engines replay. Rows are counted from 1 in errors,
the header not among them.
"""

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadInput
from ..numeric import Ints
from .traces import Numbers, Sides

# What a time written as text may be, in the order of trying.
TIME_TEXTS = (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC"))


@dataclass(frozen=True)
class Column:
    """One column, and where it came from, which errors name."""

    file: str
    name: str
    role: str  # key, side or time: what the column is read for
    data: pa.ChunkedArray

    def __str__(self) -> str:
        return f"the {self.role} column {self.name!r} of {self.file}"

    def shown(self, row: int) -> str:
        """Return the value in a row as text."""
        cell = self.data.slice(row, 1)
        if pa.types.is_timestamp(cell.type):  # without its zone: some machines have no zone table
            cell = cell.cast(pa.timestamp(cell.type.unit))
        return str(cell.cast(pa.string())[0].as_py())


def prepare(column: Column) -> Column:
    """Return the column as plain values, with 64-bit floats; refuse gaps in it."""
    data = column.data
    if isinstance(data.type, pa.BaseExtensionType):
        data = data.cast(data.type.storage_type)
    if pa.types.is_dictionary(data.type):
        data = data.cast(data.type.value_type)
    if pa.types.is_floating(data.type):
        data = pc.add(data.cast(pa.float64()), 0.0)  # turns -0.0 into 0.0, its equal
    if pa.types.is_nested(data.type):
        raise BadInput(f"{column} must hold plain values, got {data.type}; choose another column")
    missing = gaps(data)
    row = pc.index(missing, True).as_py()
    if row >= 0 and pc.all(missing).as_py():
        raise BadInput(f"{column} must hold values, got nothing but gaps; choose another one")
    if row >= 0:
        got = {None: "null", "": "an empty text", b"": "empty bytes"}.get(data[row].as_py(), "NaN")
        raise BadInput(
            f"{column} must have a value in every row, got {got} at row {row + 1};"
            " fill it in or drop the row"
        )
    return replace(column, data=data)


def keys(columns: list[Column]) -> tuple[Ints, Numbers | None]:
    """Return an integer for each row, equal where all columns are, and the numbers behind them.

    Integers stay themselves. Everything else is numbered in the order of first appearance.

    >>> names = Column("a.csv", "key", "key", pa.chunked_array([["b", "a", "b"]]))
    >>> keys([names])[0].tolist()
    [0, 1, 0]
    """
    columns = [prepare(column) for column in columns]
    if len(columns) == 1:
        return _key(columns[0].data)
    ids = _number(columns[0].data)
    for column in columns[1:]:
        more = _number(column.data)
        # Both are below the number of rows, so the product fits; renumbered, so the next one does.
        ids = _number(pa.chunked_array([ids * (more.max() + 1) + more]))
    return ids, None


def sides(column: Column) -> Sides:
    """Return 0 or 1 for each row: which of the two labels, in sorted order, it has.

    >>> sides(Column("a.csv", "side", "side", pa.chunked_array([["right", "left"]])))
    array([1, 0], dtype=int8)
    """
    column = prepare(column)
    labels = column.data.unique().sort()
    if len(labels) != 2:
        names = [str(label) for label in labels.to_pylist()]
        more = ", ..." if len(names) > 5 else ""
        raise BadInput(
            f"{column} must hold two labels, one for each stream, got {len(names)}:"
            f" {', '.join(names[:5])}{more}; keep the rows of two or choose another column"
        )
    place = pc.index_in(column.data, value_set=labels)
    return place.to_numpy().astype(np.int8)


def times(column: Column, any_order: bool = False) -> tuple[Ints, bool]:
    """Return the times as integers that never go back, and whether they are microseconds.

    Whole numbers stay themselves, be they integers or floats. Other floats are taken for seconds;
    they, timestamps, dates and times of day become microseconds. In `any_order` they may go back.

    >>> times(Column("a.csv", "at", "time", pa.chunked_array([[0.5, 2.0]])))
    (array([ 500000, 2000000]), True)
    """
    column = prepare(column)
    data = _as_times(column)
    if pa.types.is_floating(data.type):
        time, micro = _whole(column, data.to_numpy())
    else:
        time, micro = _integers(column, data), not pa.types.is_integer(data.type)
    back = time[1:] < time[:-1]  # a difference could overflow
    if back.any() and not any_order:
        row = int(np.argmax(back)) + 1
        raise BadInput(
            f"{column} must not go back, got {column.shown(row)} after {column.shown(row - 1)}"
            f" at row {row + 1}; sort the file by time"
        )
    return time, micro


def seconds(column: Column) -> Numbers:
    """Return times as numbers, in any order: timestamps, dates and times of day in seconds.

    >>> seconds(Column("a.csv", "at", "time", pa.chunked_array([["2026-01-01", "1970-01-01"]])))
    array([1.7672256e+09, 0.0000000e+00])
    """
    column = prepare(column)
    data = _as_times(column)
    if pa.types.is_floating(data.type):
        return np.asarray(data)
    scale = 1.0 if pa.types.is_integer(data.type) else 1e-6
    return np.asarray(_integers(column, data) * scale, np.float64)


def numbers(column: Column) -> Numbers:
    """Return a column of numbers; refuse any other values.

    >>> numbers(Column("a.csv", "temp", "value", pa.chunked_array([["7", "warm"]])))
    Traceback (most recent call last):
    penstock.errors.BadInput: the value column 'temp' of a.csv must hold numbers, got 'warm' ...
    """
    column = prepare(column)
    found = None if pa.types.is_boolean(column.data.type) else _cast(column.data, pa.float64())
    if found is None:
        row = first_bad(column.data, pa.float64()) if is_text(column.data.type) else 0
        raise BadInput(
            f"{column} must hold numbers, got {column.shown(row)!r} at row {row + 1};"
            " correct the row or choose another column"
        )
    found = np.asarray(found)
    bad = ~np.isfinite(found)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(
            f"{column} must hold finite numbers, got {found[row]} at row {row + 1}; drop the row"
        )
    return found


def first_bad(data: pa.ChunkedArray, kind: pa.DataType) -> int:
    """Return the first row that cannot be read as `kind`; the number of rows if all can.

    >>> first_bad(pa.chunked_array([["1", "2", "x", "4"]]), pa.int64())
    2
    """
    good, bad = 0, len(data) + 1  # so many leading rows can be read, and so many cannot
    while bad - good > 1:
        middle = (good + bad) // 2
        if _cast(data.slice(good, middle - good), kind) is None:
            bad = middle
        else:
            good = middle
    return good


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is that of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def gaps(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return where there is no value: a null, a NaN or an empty text.

    >>> gaps(pa.chunked_array([["a", "", None]])).to_pylist()
    [False, True, True]
    """
    gap = pc.is_null(data, nan_is_null=True)
    if is_text(data.type) or pa.types.is_binary(data.type) or pa.types.is_large_binary(data.type):
        gap = pc.or_(gap, pc.fill_null(pc.equal(pc.binary_length(data), 0), True))
    return gap


def _key(data: pa.ChunkedArray) -> tuple[Ints, Numbers | None]:
    if pa.types.is_integer(data.type):
        whole = _cast(data, pa.int64())  # fails for unsigned numbers of 2 ** 63 and above
        if whole is not None:
            key = whole.to_numpy().copy()  # Arrow's own memory is read-only
            return key, key
    return _number(data), data.to_numpy() if pa.types.is_floating(data.type) else None


def _number(data: pa.ChunkedArray) -> Ints:
    """Return 0, 1, ... for the different values, in the order of first appearance."""
    encoded = data.dictionary_encode().unify_dictionaries()
    parts = [part.indices.to_numpy() for part in encoded.chunks]
    return np.concatenate(parts).astype(np.int64)


def _cast(data: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Return the data as `kind`, or None where a value does not fit; times may lose precision."""
    try:
        return pc.cast(data, options=pc.CastOptions(kind, allow_time_truncate=True))
    except pa.ArrowException:
        return None


def _as_times(column: Column) -> pa.ChunkedArray:
    """Return the values of a time column, read from text where they are text; no decimals."""
    kind = column.data.type
    if pa.types.is_decimal(kind):
        return column.data.cast(pa.float64())
    if not is_text(kind):
        return column.data
    for kind in TIME_TEXTS:
        read = _cast(column.data, kind)
        if read is not None:
            return read
    row = max(first_bad(column.data, kind) for kind in TIME_TEXTS)
    raise BadInput(
        f"{column} must hold numbers, timestamps or dates, got {column.shown(row)!r}"
        f" at row {row + 1}; choose another column or write times as 2026-01-31T12:00:00"
    )


def _whole(column: Column, time: np.ndarray) -> tuple[Ints, bool]:
    """Return floats as integers: themselves where all are whole, else seconds in microseconds."""
    micro = bool((np.rint(time) != time).any())
    if micro:
        time = np.rint(time * 1e6)
    outside = ~(np.abs(time) < 2.0**63)
    if outside.any():
        _refuse_size(column, int(np.argmax(outside)))
    return time.astype(np.int64), micro


def _integers(column: Column, data: pa.ChunkedArray) -> Ints:
    """Return integers as they are and times of any sort as microseconds."""
    kind = data.type
    kinds = (
        (pa.types.is_timestamp, pa.timestamp("us", getattr(kind, "tz", None))),
        (pa.types.is_date, pa.timestamp("us")),
        (pa.types.is_time, pa.time64("us")),
        (pa.types.is_duration, pa.duration("us")),
        (pa.types.is_integer, pa.int64()),
    )
    micro = next((wanted for is_such, wanted in kinds if is_such(kind)), None)
    if micro is None:
        raise BadInput(
            f"{column} must hold numbers, timestamps or dates, got {kind}; choose another column"
        )
    time = _cast(data, micro)
    if time is None:
        _refuse_size(column, first_bad(data, micro))
    return np.asarray(time.cast(pa.int64()))


def _refuse_size(column: Column, row: int) -> NoReturn:
    raise BadInput(
        f"{column} must fit in 64 bits, got {column.shown(row)} at row {row + 1};"
        " use a coarser unit of time"
    )
