"""Read traces from files: CSV, Parquet or JSON, each of them also gzipped.

Only the columns that are asked for are read, so others may hold anything.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from ..errors import BadInput
from ..kernel.options import closest
from ..numeric import Ints
from .columns import Column, first_bad, gaps, is_text, keys, numbers, prepare, seconds, sides, times
from .traces import JoinTrace, LookupTrace, Numbers

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
    return pa.large_string() if is_text(kind) else kind


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
    time: Ints | None = None  # of each row, in any order, where a column of times was named
    in_microseconds: bool = False

    def label(self, key: int) -> Any:
        """Return what a key was in the file: an integer, a text, or a list of those."""
        row = int(np.argmax(self.key == key))
        labels = [
            column.data[row].as_py() if pa.types.is_integer(column.data.type) else column.shown(row)
            for column in self.columns
        ]
        return labels if len(labels) > 1 else labels[0]


def read_keys(path: File, *, key: str = "key", time: str | None = None) -> KeyRows:
    """Return the keys of a file in the order of the rows; those without one are left out.

    time: the column of their times, if these are wanted too.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pages.csv")
    ...     _ = file.write_text("page,user\\n/home,1\\n,2\\n/about,3\\n")
    ...     rows = read_keys(file, key="page")
    >>> rows.key.tolist(), rows.label(1), rows.gaps
    ([0, 1], '/about', 1)
    """
    roles = {} if time is None else {"time": time}
    found = _columns(path, key=key, **roles)
    columns, left_out = _without_gaps(found["key"], found.get("time", ()))
    if time is None:
        return KeyRows(keys(columns)[0], columns, left_out)
    *columns, when = columns
    return KeyRows(keys(columns)[0], columns, left_out, *times(when, any_order=True))


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
        table = read(list(dict.fromkeys(chain.from_iterable(wanted.values()))))
    if table.num_rows == 0:
        raise BadInput(f"{file} must hold at least one row, got a header and no rows")
    return {
        role: [Column(str(file), name, role, table[name]) for name in group]
        for role, group in wanted.items()
    }


def _check_present(file: Path, name: str, role: str, names: list[str]) -> None:
    if name not in names:
        near = closest(name, names)
        hint = f"did you mean {near!r}?" if near else f"choose one with {role}=."
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
