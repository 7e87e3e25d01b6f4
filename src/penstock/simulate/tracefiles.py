"""Read traces from files: CSV, Parquet or JSON, each of them also gzipped.

Only the columns that are asked for are read, so others may hold anything; what they hold becomes
the integers that the engines replay. Rows are counted from 1 in errors, the header not among them.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from ..errors import BadInput
from ..numeric import Ints
from .traces import JoinTrace, LookupTrace, Numbers, Sides

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
        row = first_bad(column.data, pa.float64()) if _is_text(column.data.type) else 0
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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def gaps(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return where there is no value: a null, a NaN or an empty text.

    >>> gaps(pa.chunked_array([["a", "", None]])).to_pylist()
    [False, True, True]
    """
    gap = pc.is_null(data, nan_is_null=True)
    if _is_text(data.type) or pa.types.is_binary(data.type) or pa.types.is_large_binary(data.type):
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
    if not _is_text(kind):
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


BLOCK = 1 << 24  # bytes of a text file parsed at once; a longer row cannot be read

File = str | PathLike[str]
# The names of all columns, and a way to read some of them.
Opened = tuple[list[str], Callable[[list[str]], pa.Table]]


def read_join(
    path: File, *, key: str = "key", side: str = "side", time: str | None = None
) -> JoinTrace:
    """Return the rows of a file as the tuples of two streams.

    key: the column to join on, or several with commas between. Integers stay themselves; any other
        values are numbered in the order of first appearance, equal ones alike.
    side: the column that names each row's stream by one of two labels; sorted, they are 0 and 1.
    time: the column of the times, which must not go back; by default the column `time` where
        there is one, else the row number. Whole numbers stay themselves, be they integers or
        floats; other floats are seconds. Those, timestamps and dates become microseconds, and
        anything finer is lost.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "calls.csv")
    ...     _ = file.write_text("key,side,time\\nann,out,10\\nbob,in,11\\nann,in,15\\n")
    ...     trace = read_join(file)
    >>> trace.key.tolist(), trace.side.tolist(), trace.time.tolist()
    ([0, 1, 0], [1, 0, 0], [10, 11, 15])
    """
    columns, clock, micro = _load(path, key, side=side, time=time)
    side_of = sides(columns["side"][0])
    ids, value = keys(columns["key"])
    return JoinTrace(side_of, ids, clock, micro=micro, name=Path(path).name, value=value)


def read_lookup(
    path: File, *, key: str = "key", time: str | None = None, sort: bool = False
) -> LookupTrace:
    """Return the rows of a file as references to a cache, in the order of the rows.

    `key` and `time` are as for `read_join`; the times are only checked for going back. With `sort`
    they may, and the references are in the order of time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pages.csv")
    ...     _ = file.write_text("page,user\\n/home,1\\n/about,2\\n/home,NA\\n")
    ...     read_lookup(file, key="page").key.tolist()
    [0, 1, 0]
    """
    return read_stream(path, key=key, time=time, sort=sort)[0]


def read_stream(
    path: File, *, key: str = "key", time: str | None = None, sort: bool = False
) -> tuple[LookupTrace, NDArray | None]:
    """Return the rows of a file as references, and their times; None where there are none.

    `key`, `time` and `sort` are as for `read_lookup`. Microseconds are of NumPy's own type.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pages.csv")
    ...     _ = file.write_text("page,time\\n/home,10\\n/about,12\\n/home,12\\n")
    ...     trace, times = read_stream(file, key="page")
    >>> trace.key.tolist(), times.tolist()
    ([0, 1, 0], [10, 12, 12])
    """
    columns, clock, micro = _load(path, key, any_order=sort, time=time)
    ids, value = keys(columns["key"])
    if sort and (clock[1:] < clock[:-1]).any():
        order = np.argsort(clock, kind="stable")
        ids, clock = ids[order], clock[order]
        value = None if value is None else value[order]
    trace = LookupTrace(ids, name=Path(path).name, value=value)
    if not columns["time"]:
        return trace, None
    return trace, clock.view("datetime64[us]") if micro else clock


def read_pair(left: File, right: File, *, key: str = "key", time: str | None = None) -> JoinTrace:
    """Return the rows of two files as the tuples of two streams, in the order of time.

    The rows of a file may be in any order. `key` is as for `read_join` and must be of one type in
    both files. `time` is one column, or two with a comma between: of the left file and of the
    right one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     views, clicks = Path(folder, "views.csv"), Path(folder, "clicks.csv")
    ...     _ = views.write_text("who,at\\nann,10\\nbob,12\\n")
    ...     _ = clicks.write_text("who,at\\nbob,11\\n")
    ...     trace = read_pair(views, clicks, key="who", time="at")
    >>> trace.side.tolist(), trace.key.tolist(), trace.time.tolist()
    ([0, 1, 0], [0, 1, 1], [10, 11, 12])
    """
    clocks = [None] if time is None else [part.strip() for part in time.split(",")]
    if len(clocks) > 2:
        raise BadInput(f"time must name a column, or one of each file, got {time!r}")
    both_files = zip((left, right), (clocks[0], clocks[-1]), strict=True)
    loaded = [_load(path, key, any_order=True, time=clock) for path, clock in both_files]
    units = [micro for _, _, micro in loaded]
    if units[0] != units[1]:
        kinds = ["timestamps" if micro else "plain numbers" for micro in units]
        raise BadInput(
            f"times must be of one kind in both files, got {kinds[0]} in {left} and {kinds[1]} in"
            f" {right}; write both as timestamps, or both as numbers"
        )
    both = zip(loaded[0][0]["key"], loaded[1][0]["key"], strict=True)
    ids, value = keys([_stacked(mine, theirs) for mine, theirs in both])
    clock = np.concatenate([each[1] for each in loaded])
    side = np.repeat(np.arange(2, dtype=np.int8), [len(each[1]) for each in loaded])
    order = np.lexsort((side, clock))
    return JoinTrace(
        side[order],
        ids[order],
        clock[order],
        micro=units[0],
        name=f"{Path(left).name} and {Path(right).name}",
        value=None if value is None else value[order],
    )


def _stacked(left: Column, right: Column) -> Column:
    """Return a key column of both files, refusing types that cannot be compared."""
    left, right = prepare(left), prepare(right)
    kind, other = (_common(each.data.type) for each in (left, right))
    if kind != other:
        raise BadInput(
            f"the key column {left.name!r} must be of one type in both files, got"
            f" {left.data.type} in {left.file} and {right.data.type} in {right.file};"
            " convert one of them"
        )
    try:
        chunks = [*left.data.cast(kind).chunks, *right.data.cast(kind).chunks]
    except pa.ArrowInvalid:  # unsigned numbers of 2 ** 63 and above
        kind = pa.string()
        chunks = [*left.data.cast(kind).chunks, *right.data.cast(kind).chunks]
    return replace(left, file=f"{left.file} and {right.file}", data=pa.chunked_array(chunks, kind))


def _common(kind: pa.DataType) -> pa.DataType:
    """Return the type that values of alike types are compared as."""
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.large_string() if _is_text(kind) else kind


def row_bytes(path: File) -> float:
    """Return about how many bytes a row of a file takes: all of its columns, uncompressed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.csv")
    ...     _ = file.write_text("key,name\\n1,ann\\n2,bob\\n")
    ...     row_bytes(file)
    6.0
    """
    file = Path(path)
    with _readable(file), _stream(file) as stream:
        if _suffixes(file)[:1] == [".parquet"]:
            about = _parquet(file).metadata
            groups = [about.row_group(place) for place in range(about.num_row_groups)]
            return sum(each.total_byte_size for each in groups) / max(1, about.num_rows)
        lines = stream.read(1 << 20).split(b"\n")
    lines = lines if _suffixes(file)[0] == ".csv" else [b"", *lines]  # JSON has no header
    rows = lines[1:-1] or lines[1:]
    return sum(len(row) + 1 for row in rows) / max(1, len(rows))


@dataclass(frozen=True)
class KeyRows:
    """The rows of a file that have a key."""

    key: Ints  # an integer for each row, as for `read_join`
    columns: list[Column]  # what the integers stand for
    gaps: int  # rows left out because they have no key

    def label(self, key: int) -> Any:
        """Return what a key was in the file: an integer, a text, or a list of those."""
        row = int(np.argmax(self.key == key))
        labels = [
            column.data[row].as_py() if pa.types.is_integer(column.data.type) else column.shown(row)
            for column in self.columns
        ]
        return labels if len(labels) > 1 else labels[0]


def read_keys(path: File, *, key: str = "key") -> KeyRows:
    """Return the keys of a file in the order of the rows; those without one are left out.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pages.csv")
    ...     _ = file.write_text("page,user\\n/home,1\\n,2\\n/about,3\\n")
    ...     rows = read_keys(file, key="page")
    >>> rows.key.tolist(), rows.label(1), rows.gaps
    ([0, 1], '/about', 1)
    """
    columns, left_out = _without_gaps(_columns(path, key=key)["key"])
    return KeyRows(keys(columns)[0], columns, left_out)


@dataclass(frozen=True)
class Readings:
    """Numbers that several sources reported, in the order of time."""

    name: str
    time: Numbers  # as they are, or in seconds where they are timestamps, dates or times of day
    source: Ints  # 0, 1, ...: whose number it is
    value: Numbers
    labels: list[str]  # what the sources are called in the file
    gaps: int  # rows left out because they have no key or no value


def read_readings(
    path: File, *, key: str = "key", value: str = "value", time: str = "time"
) -> Readings:
    """Return the readings of a file, whose rows may be in any order.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "temps.csv")
    ...     _ = file.write_text("key,time,value\\nroof,2,20.5\\nroof,1,NA\\ncellar,1,9\\n")
    ...     found = read_readings(file)
    >>> found.time.tolist(), found.value.tolist(), found.labels, found.gaps
    ([1.0, 2.0], [9.0, 20.5], ['cellar', 'roof'], 1)
    """
    columns = _columns(path, key=key, time=time, value=value)
    (numbered, *names, when), left_out = _without_gaps(
        columns["value"] + columns["key"], columns["time"]
    )
    clock = seconds(when)
    order = np.argsort(clock, kind="stable")
    _, first, source = np.unique(keys(names)[0][order], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # sources are numbered in the order of first appearance
    labels = [",".join(name.shown(int(order[row])) for name in names) for row in np.sort(first)]
    value_of = numbers(numbered)[order]
    return Readings(Path(path).name, clock[order], rank[source], value_of, labels, left_out)


def _without_gaps(
    looked_at: list[Column], beside: Sequence[Column] = ()
) -> tuple[list[Column], int]:
    """Return the columns, and those beside them, without rows that have gaps; and how many had."""
    empty = np.zeros(len(looked_at[0].data), bool)
    for column in looked_at:
        if not pa.types.is_nested(column.data.type):  # those are refused later
            empty |= gaps(column.data).to_numpy()
    if empty.all():
        raise BadInput(
            f"{looked_at[0]} must hold values, got nothing but nulls; choose another one"
        )
    kept = pa.chunked_array([pa.array(~empty)])
    columns = [replace(each, data=each.data.filter(kept)) for each in (*looked_at, *beside)]
    return columns, int(empty.sum())


def _load(
    path: File, key: str, any_order: bool = False, **roles: str | None
) -> tuple[dict[str, list[Column]], Ints, bool]:
    """Return the columns by what they are read for, the times, and whether those are microseconds.

    Without a column of times they are the row numbers. any_order: times may go back.
    """
    columns = _columns(path, key=key, **roles)
    if columns["time"]:
        return columns, *times(columns["time"][0], any_order)
    return columns, np.arange(len(columns["key"][0].data)), False


def _columns(path: File, *, key: str, **roles: str | None) -> dict[str, list[Column]]:
    """Return the columns by what they are read for: key, side, time, value.

    A key may be several columns, with commas between. A time of None is the column `time`, where
    there is one.
    """
    file = Path(path)
    with _readable(file):
        names, read = _open(file)
    wanted = {"key": [key] if key in names else [part.strip() for part in key.split(",")]}
    for role, name in roles.items():
        wanted[role] = [name or role] if name or role in names else []
    for role, group in wanted.items():
        for name in group:
            _check_present(file, name, role, names)
    with _readable(file):
        table = read(list(dict.fromkeys(chain.from_iterable(wanted.values()))))
    if table.num_rows == 0:
        raise BadInput(f"{file} must hold at least one row, got a header and no rows")
    return {
        role: [Column(str(file), name, role, table[name]) for name in group]
        for role, group in wanted.items()
    }


def _check_present(file: Path, name: str, role: str, names: list[str]) -> None:
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one with {role}=."
        known = ", ".join(names[:30]) + ", ..." * (len(names) > 30)
        raise BadInput(f"{file} has no column {name!r} for the {role}; {hint} Its columns: {known}")
    if names.count(name) > 1:
        raise BadInput(
            f"{file} must have one column {name!r} for the {role}, got {names.count(name)};"
            " rename the others"
        )


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turn any error of the readers into one sentence."""
    try:
        yield
    except UnicodeError:
        raise BadInput(f"{file} must be UTF-8 text, got other bytes; save it as UTF-8") from None
    except (pa.ArrowException, OSError, csv.Error) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        kind = "gzipped " * _zipped(file) + "".join(_suffixes(file)[:1])[1:]
        raise BadInput(
            f"{file} cannot be read as {kind}, it may be cut off or damaged ({reason});"
            " write or fetch it again"
        ) from None


def _suffixes(file: Path) -> list[str]:
    """Return the endings that name the format, in lower case: .csv, or .csv and .gz, and so on."""
    found = [suffix.lower() for suffix in file.suffixes[-2:]]
    return found if found[-1:] == [".gz"] else found[-1:]


def _zipped(file: Path) -> bool:
    return _suffixes(file)[-1:] == [".gz"]


def _open(file: Path) -> Opened:
    if not file.exists():
        raise BadInput(f"there is no file {file}; check the path")
    if file.is_dir():
        raise BadInput(f"{file} must be one file, got a folder; give the path of a file in it")
    kind = "".join(_suffixes(file)[:1])
    if kind not in READERS:
        *some, last = READERS
        raise BadInput(
            f"a trace file must end in {', '.join(some)} or {last}, then perhaps in .gz, got "
            f"{file.name!r}; convert or rename it"
        )
    with _stream(file) as stream:
        if not stream.read(1):
            raise BadInput(f"{file} must hold a table, got an empty file")
    return READERS[kind](file)


def _open_parquet(file: Path) -> Opened:
    table = _parquet(file)
    return table.schema_arrow.names, lambda wanted: table.read(columns=wanted)


def _open_json(file: Path) -> Opened:
    """Open a file of JSON objects, one a line."""
    with _stream(file) as stream:
        table = pa.json.read_json(stream, pa.json.ReadOptions(block_size=BLOCK))
    return table.column_names, table.select


def _stream(file: Path) -> pa.NativeFile:
    return pa.input_stream(file, compression="gzip" if _zipped(file) else None)


def _parquet(file: Path) -> pa.parquet.ParquetFile:
    # Parquet is read from its end, which a compressed stream cannot reach.
    return pa.parquet.ParquetFile(_stream(file).read_buffer() if _zipped(file) else file)


def _open_csv(file: Path) -> Opened:
    # Bytes that are not UTF-8 are accepted here: they may be in columns that are not read.
    with io.TextIOWrapper(_stream(file), "utf-8-sig", "surrogateescape", newline="") as text:
        names = next((row for row in csv.reader(text) if row), None)
        rows = any(line.strip() for line in text)
    if names is None:
        raise BadInput(f"{file} must hold a table, got only blank lines")
    "".join(names).encode()  # but in the header they are an error
    return names, lambda wanted: _read_csv(file, wanted) if rows else pa.table({})


def _read_csv(file: Path, wanted: list[str]) -> pa.Table:
    table = _parse_csv(file, wanted, {})
    # Whole numbers beyond 64 bits come out as floats, which would make different ones equal.
    large = {
        name: pa.string()
        for name in wanted
        if pa.types.is_floating(table[name].type)
        and table[name].null_count == 0  # else it is refused later, and as text it might not be
        and pc.any(pc.greater_equal(pc.abs(table[name]), 2.0**53)).as_py()
    }
    if large:
        table = _parse_csv(file, wanted, large)
    for name in wanted:
        if pa.types.is_binary(table[name].type):
            row = first_bad(table[name], pa.string())
            raise BadInput(
                f"{file} must be UTF-8 text, got other bytes in column {name!r} at row {row + 1};"
                " save it as UTF-8"
            )
    return table


def _parse_csv(file: Path, wanted: list[str], types: dict[str, pa.DataType]) -> pa.Table:
    uneven: list[pa.csv.InvalidRow] = []

    def keep(row: pa.csv.InvalidRow) -> str:
        uneven.append(row)
        return "error"

    convert = pa.csv.ConvertOptions(
        include_columns=wanted,
        column_types=types,
        true_values=[],  # else 1 and true would be one key
        false_values=[],
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep)
    # Without threads an uneven row has a number; a row must fit in a block.
    read = pa.csv.ReadOptions(use_threads=False, block_size=BLOCK)
    try:
        with _stream(file) as stream:
            return pa.csv.read_csv(stream, read, parse, convert)
    except pa.ArrowInvalid:
        if not uneven:
            raise
    row = uneven[0]
    raise BadInput(
        f"every row of {file} must have {row.expected_columns} columns as its header has,"
        f" got {row.actual_columns} at row {row.number - 1}; quote values that hold commas"
    )


READERS: dict[str, Callable[[Path], Opened]] = {
    ".csv": _open_csv,
    ".parquet": _open_parquet,
    ".json": _open_json,
    ".jsonl": _open_json,
    ".ndjson": _open_json,
}
