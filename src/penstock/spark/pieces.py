"""Cut rows into pieces that are small enough: how many bytes each takes, and where to cut."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 65_536  # in one packet of results
BYTES = 8 << 20  # and about so many bytes


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


def even_pieces(count: int, rows: int) -> Iterator[slice]:
    """Cut rows of no matter what size into pieces of at most `rows` rows."""
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


def column_bytes(column: pa.ChunkedArray) -> np.ndarray | int:
    """Return about how many bytes each value takes; one number if all take the same.

    >>> column_bytes(pa.chunked_array([["a", None, "bcd"]])).tolist()
    [5, 4, 7]
    """
    if not len(column):
        return 0
    if not _varies(column.type):
        return -(-column.nbytes // len(column))
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
    return np.full(count, -(-array.nbytes // count) if count else 0, np.int64)


def _varies(kind: pa.DataType) -> bool:
    return _has_length(kind) or _has_items(kind) or pa.types.is_struct(kind)


def _has_length(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_large_string,
        pa.types.is_large_binary,
    )
    return any(test(kind) for test in tests)


def _has_items(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)
