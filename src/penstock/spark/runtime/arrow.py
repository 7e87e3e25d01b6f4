"""Arrow tables: packets of them, rows of one meaning and different types, sizes and equality.

Spark may describe the same column otherwise after a restart: timestamps in another zone, values
that are now promised not to be null, longer offsets. All that is harmless (`fitted`).
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 65_536  # in one packet of results
BYTES = 8 << 20  # and about so many bytes


def plain_numbers(column: pa.Array) -> np.ndarray:
    """Return numbers for NumPy, decimals as numbers of their last digit, 0 for those missing.

    >>> from decimal import Decimal
    >>> plain_numbers(pa.array([Decimal("-1.25"), None], pa.decimal128(5, 2))).tolist()
    [-125, 0]
    """
    if not pa.types.is_decimal(column.type):
        return np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset :]
    low = words[: 2 * len(column) : 2]  # of 128 bits; 18 digits fit
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), low, 0)


def to_ipc(table: pa.Table, rows: int | None = None) -> bytes:
    """Return a table as an Arrow IPC stream, in batches of at most so many rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue().to_pybytes()


def from_ipc(blob: bytes | memoryview) -> pa.Table:
    """Return the table of an Arrow IPC stream, without copying it."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def to_parquet(table: pa.Table) -> bytes:
    """Return a table as a small Parquet file, for a fraction of its bytes and little time.

    Whole numbers and times, of which many are nearly in order, are stored as differences.
    """
    kinds = [leaf for field in table.schema for leaf in _leaves(field.name, field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=1,
        use_dictionary=[path for path, kind in kinds if _repeats(kind)],
        column_encoding={path: "DELTA_BINARY_PACKED" for path, kind in kinds if _is_whole(kind)},
        store_schema=False,
        write_statistics=False,
    )
    return sink.getvalue().to_pybytes()


def from_parquet(blob: pa.Buffer) -> pa.Table:
    """Return the table of a small Parquet file, whose types may be others of one meaning."""
    return pq.ParquetFile(pa.BufferReader(blob)).read(use_threads=False)


def _leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Return the columns that Parquet makes of one."""
    inner = []
    if pa.types.is_struct(kind):
        inner = [(field.name, field.type) for field in kind]
    elif pa.types.is_map(kind):
        inner = [("key_value.key", kind.key_type), ("key_value.value", kind.item_type)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = [("list.element", kind.value_type)]
    else:
        yield path, kind
    for name, part in inner:
        yield from _leaves(f"{path}.{name}", part)


def _is_whole(kind: pa.DataType) -> bool:
    """Tell whether Parquet stores values as whole numbers."""
    return pa.types.is_integer(kind) or pa.types.is_temporal(kind)


def _repeats(kind: pa.DataType) -> bool:
    """Tell whether a dictionary of the values may be worth its time."""
    return _has_length(kind) or pa.types.is_decimal(kind)


def concatenated(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables, with the columns of the last one, which is the newest.

    >>> old = pa.table({"t": pa.array([0], pa.timestamp("us", "Europe/Berlin"))})
    >>> new = pa.table({"t": pa.array([1], pa.timestamp("us", "Asia/Tokyo"))})
    >>> concatenated([old, new]).schema.field("t").type
    TimestampType(timestamp[us, tz=UTC])
    """
    newest = tables[-1].schema
    if all(table.schema.equals(newest) for table in tables):
        return pa.concat_tables(tables)
    common = pa.schema([_relaxed_field(field) for field in newest])
    return pa.concat_tables([fitted(table, common) for table in tables])


def gathered(
    batches: Iterable[pa.RecordBatch], rows: int, most: float = math.inf
) -> Iterator[list[pa.RecordBatch]]:
    """Yield batches together, at least `rows` rows or `most` bytes; at the end what is left, or [].

    >>> parts = pa.table({"x": range(5)}).to_batches(2)
    >>> [[len(batch) for batch in some] for some in gathered(parts, 3)]
    [[2, 2], [1]]
    """
    waiting: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count, size = count + batch.num_rows, size + batch.nbytes
        if count >= rows or size >= most:
            yield waiting
            waiting, count, size = [], 0, 0
    yield waiting


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema, which may have other types of one meaning."""
    if table.schema.equals(schema, check_metadata=True):
        return table
    columns = table.select(schema.names).columns
    made = [_fitted(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(made, schema=schema)


def _fitted(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if not pa.types.is_struct(kind) or all(part.nullable for part in kind):
        return column.cast(kind)
    # Arrow casts no null to a struct whose parts are promised not to be, as those of variants are.
    there = column.is_valid()
    whole = column.take(pc.indices_nonzero(there)).cast(kind)
    place = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
    return whole.take(pc.if_else(there, place, None))


def relaxed(kind: pa.DataType) -> pa.DataType:
    """Return a type of the same values that promises least.

    >>> relaxed(pa.struct([pa.field("a", pa.list_(pa.field("x", pa.int8(), False)), False)]))
    StructType(struct<a: list<x: int8>>)
    """
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")
    if pa.types.is_dictionary(kind):
        return relaxed(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([_relaxed_field(field) for field in kind])
    if pa.types.is_map(kind):
        key = pa.field(kind.key_field.name, relaxed(kind.key_type), False)
        return pa.map_(key, _relaxed_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_relaxed_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_relaxed_field(kind.value_field))
    return kind


def first_row(table: pa.Table) -> list[Any]:
    """Return the values of the first row as Python has them, times in UTC.

    Spark takes zones that Python does not know. A date that Python has not is an OverflowError.

    >>> str(*first_row(pa.table({"t": pa.array([0], pa.timestamp("us", "GMT+01:00"))})))
    '1970-01-01 00:00:00+00:00'
    """
    one = table.slice(0, 1)
    return [column.cast(relaxed(column.type))[0].as_py() for column in one.columns]


def _relaxed_field(field: pa.Field) -> pa.Field:
    return field.with_type(relaxed(field.type)).with_nullable(True)


def pieces(sizes: np.ndarray, rows: int, most: int) -> Iterator[slice]:
    """Cut rows of the given sizes into pieces of at most `rows` rows and `most` bytes.

    A row that is larger makes a piece of its own.

    >>> [(each.start, each.stop) for each in pieces(np.array([4, 4, 9, 20, 1]), 10, 10)]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends = np.cumsum(sizes)
    first = before = 0
    while first < len(sizes):
        fit = int(np.searchsorted(ends, before + most, "right"))
        last = max(first + 1, min(first + rows, fit))
        yield slice(first, last)
        first, before = last, int(ends[last - 1])


def column_bytes(column: pa.ChunkedArray) -> np.ndarray | int:
    """Return about how many bytes each value takes; one number if all take the same.

    It follows from the value and its type alone, whatever rows it came with: what is decided by
    sizes is then decided alike when a bucket is made anew from its state.

    >>> column_bytes(pa.chunked_array([["a", None, "bcd"]])).tolist()
    [5, 4, 7]
    """
    if not len(column):
        return 0
    if not _varies(column.type):
        return _width(column)
    return np.concatenate([_value_bytes(chunk) for chunk in column.chunks])


def _value_bytes(array: pa.Array) -> np.ndarray:
    kind, count = array.type, len(array)
    if _has_length(kind):
        lengths = pc.fill_null(pc.binary_length(array), 0)
        return lengths.to_numpy(zero_copy_only=False) + np.int64(4)
    if pa.types.is_struct(kind):
        return sum(map(_value_bytes, array.flatten()), np.zeros(count, np.int64))
    if _has_items(kind):
        inside = [array.keys, array.items] if pa.types.is_map(kind) else [array.values]
        ends = np.concatenate([[0], np.cumsum(sum(map(_value_bytes, inside)))])
        at = array.offsets.to_numpy(zero_copy_only=False)
        return ends[at[1:]] - ends[at[:-1]] + np.int64(4)
    return np.full(count, _width(array), np.int64)


def _width(values: pa.Array | pa.ChunkedArray) -> int:
    """Return how many bytes each value takes of a type without lengths."""
    try:
        return int(-(-values.type.bit_width // 8))
    except ValueError:  # a type that Spark does not have, or one of nulls alone
        return int(-(-values.nbytes // max(1, len(values))))


def _varies(kind: pa.DataType) -> bool:
    return _has_length(kind) or _has_items(kind) or pa.types.is_struct(kind)


def _has_length(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _has_items(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)


def row_bytes(table: pa.Table, rows: int) -> np.ndarray:
    """Return about how many bytes each row takes: of texts and lists their own, else by type."""
    total = np.zeros(rows, np.int64)
    if rows:
        for column in table.columns:
            total += column_bytes(column)
    return total


def as_microseconds(column: pa.ChunkedArray) -> np.ndarray:
    """Return timestamps as whole microseconds."""
    array = column.combine_chunks()
    if not pa.types.is_timestamp(array.type) or array.type.unit != "us":
        array = array.cast(pa.timestamp("us", getattr(array.type, "tz", None)))
    return array.view(pa.int64()).to_numpy(zero_copy_only=False)


def equal(left: Any, right: Any) -> np.ndarray:
    """Compare two columns as Spark compares keys: NaN equals NaN, and 0.0 equals -0.0.

    Inside of nested values a null equals a null. No value becomes a Python object, which has no
    room for all dates of Spark, nor for two fields of one name.

    >>> nan = float("nan")
    >>> equal(pa.array([0.0, nan, 1.0]), pa.array([-0.0, nan, 2.0])).tolist()
    [True, True, False]
    >>> equal(pa.array([[1, None], [], [1]]), pa.array([[1, None], [2], [2]])).tolist()
    [True, False, False]
    """
    one, other = (
        each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each
        for each in (left, right)
    )
    here, there = (each.is_valid().to_numpy(zero_copy_only=False) for each in (one, other))
    same = np.array(here == there)
    if pa.types.is_null(one.type):
        return same
    if pa.types.is_struct(one.type):  # by place: names may differ in case
        for mine, theirs in zip(one.flatten(), other.flatten(), strict=True):
            same &= equal(mine, theirs)
    elif pa.types.is_list(one.type) or pa.types.is_large_list(one.type):
        lengths = (pc.fill_null(pc.list_value_length(each), 0) for each in (one, other))
        size, its = (each.to_numpy(zero_copy_only=False) for each in lengths)
        same &= size == its
        inside = (each.filter(pa.array(same)).flatten() for each in (one, other))
        wrong = np.concatenate([[0], np.cumsum(~equal(*inside))])
        ends = np.concatenate([[0], np.cumsum(size[same])])
        same[same] = wrong[ends[1:]] == wrong[ends[:-1]]
    else:
        values = pc.equal(one, other)
        if pa.types.is_floating(one.type):
            values = pc.or_(values, pc.and_(pc.is_nan(one), pc.is_nan(other)))
        same &= pc.fill_null(values, True).to_numpy(zero_copy_only=False)
    return same
