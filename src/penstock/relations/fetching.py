"""Fetch the rows of many keys, in queries of bounded size, and check the answers.

A query has a timeout, and is retried after a pause, a limited number of times. An answer must have
the columns and types that the source had when the query started, and at most one row per key.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadInput, PenstockError, Unreachable
from .sources import RowSource

LONGEST = 30.0  # seconds between two tries
HOPELESS = ("ProgrammingError", "DataError", "IntegrityError", "NotSupportedError", "NoFile")
WRITTEN = (
    "nothing of this micro-batch was written, so start the query again from its checkpoint when it "
    "answers"
)


class Patience(NamedTuple):
    """How many keys a query has, how long it may take, and how often it is retried."""

    size: int = 10_000  # keys in one query
    timeout: float = 30.0  # seconds for one query
    retries: int = 6
    pause: float = 0.2  # seconds before the first retry; doubled before each further one


class Tried(NamedTuple):
    """An answer, when its query was sent (microseconds), and how many tries it took."""

    answer: Any
    sent: int
    tries: int


def ask(
    question: Callable[[], Any],
    patience: Patience,
    source: RowSource,
    clock: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
    way_out: str = WRITTEN,
) -> Tried:
    """Ask until there is an answer; the query is cancelled at a timeout."""
    began = clock()
    for tries in range(1, patience.retries + 2):
        sent = clock()
        try:
            return Tried(within(patience.timeout, question, source.cancel), sent, tries)
        except PenstockError:
            raise  # asking again changes nothing
        except Exception as error:
            said = _first_line(error, source.hide)
            if _is_hopeless(error):
                raise BadInput(f"{source.name} cannot be asked: {said}") from None
        if tries <= patience.retries:
            sleep(min(LONGEST, patience.pause * 2 ** (tries - 1)))
    taken = (clock() - began) / 1e6
    often = "once" if patience.retries == 0 else f"{patience.retries + 1} times in {taken:.1f} s"
    raise Unreachable(
        f"{source.name} was asked {often} and did not answer, the last time because:"
        f" {said}; {way_out}"
    )


def within(seconds: float, action: Callable[[], Any], give_up: Callable[[], None]) -> Any:
    """Return what an action returns, or raise TimeoutError if that takes too long.

    >>> within(5, lambda: 7, lambda: None)
    7
    """
    done: Future[Any] = Future()

    def work() -> None:
        try:
            done.set_result(action())
        except BaseException as error:  # it is raised in the waiting thread
            done.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        give_up()
        raise TimeoutError(f"no answer within {seconds:g} s")
    return done.result()


def _is_hopeless(error: Exception) -> bool:
    """Return whether the database understood and refused: no such table, no permission."""
    return any(kind.__name__ in HOPELESS for kind in type(error).__mro__)


def _first_line(error: Exception, hide: Callable[[str], str]) -> str:
    """Return the first line; secrets are hidden before, since one may go over several lines."""
    lines = [line.strip() for line in hide(str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"


# ------------------------------------------------------------ many keys


class FetchedRows(NamedTuple):
    """The rows of the keys that were asked for."""

    rows: pa.Table  # the promised columns
    row: np.ndarray  # int64[asked]: which of the rows a key has, -1 for none
    sent: np.ndarray  # int64[asked]: when the query was sent, in microseconds


@dataclass
class Fetcher:
    """Asks a source, and counts queries, retries and keys."""

    source: RowSource
    promised: pa.Schema
    patience: Patience
    clock: Callable[[], int] = lambda: time.time_ns() // 1000
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self.counts = dict.fromkeys(("calls", "retries", "asked", "fetched"), 0)

    def fetch(self, keys: pa.Table) -> FetchedRows:
        """Return the rows of some keys, all of them different."""
        tables: list[pa.Table] = []
        before = 0
        row, sent = np.empty(keys.num_rows, np.int64), np.empty(keys.num_rows, np.int64)
        for first in range(0, keys.num_rows, self.patience.size):
            part = slice(first, first + self.patience.size)
            rows, found, sent[part] = self._ask(keys.slice(first, self.patience.size))
            row[part] = np.where(found >= 0, found + before, -1)
            before += rows.num_rows
            tables.append(rows)
        rows = pa.concat_tables([self.promised.empty_table(), *tables]).combine_chunks()
        return FetchedRows(rows, row, sent)

    def _ask(self, keys: pa.Table) -> tuple[pa.Table, np.ndarray, int]:
        """Return the rows of one query's keys, which of them each key has, and when it was sent."""
        source = self.source
        tried = ask(lambda: source.fetch(keys), self.patience, source, self.clock, self.sleep)
        rows = conform(tried.answer, self.promised, source.keys, source.name)
        row = places(keys, rows.select(list(source.keys)))
        self.counts["calls"] += tried.tries
        self.counts["retries"] += tried.tries - 1
        self.counts["asked"] += len(row)
        self.counts["fetched"] += int((row >= 0).sum())
        return rows, row, tried.sent


def conform(answer: pa.Table, promised: pa.Schema, keys: tuple[str, ...], name: str) -> pa.Table:
    """Return the promised columns, in their order and types, refusing two rows for one key.

    Columns that were not promised are left out: a table may grow new ones while a query runs.
    """
    columns = []
    for field in promised:
        if field.name not in answer.column_names:
            raise BadInput(
                f"the answer of {name} lacks the column {field.name!r}, which it had when the "
                f"query started; it has {', '.join(answer.column_names)}"
            )
        columns.append(_cast(answer.column(field.name), field, name))
    table = pa.Table.from_arrays(columns, schema=promised)
    refuse_doubles(table.select(list(keys)), name)
    return table


def _cast(column: pa.ChunkedArray, field: pa.Field, name: str) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.storage_type)
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(
            f"column {field.name!r} of {name} was {field.type} when the query started, and now an "
            f"answer has {column.type}: {error}; cast it to one type"
        ) from None


def refuse_doubles(keys: pa.Table, name: str) -> None:
    """Refuse an answer with two rows for one key, naming it."""
    _, first, count = np.unique(_told([keys]), return_index=True, return_counts=True)
    if not (count > 1).any():
        return
    which = int(np.argmax(count > 1))
    raise BadInput(
        f"{name} has {count[which]} rows for the key {said(keys, int(first[which]))}; a lookup "
        "needs one at most: choose one in query=, or another key"
    )


def said(keys: pa.Table, row: int) -> str:
    """Return a key as messages show it.

    >>> said(pa.table({"id": [7]}), 0), said(pa.table({"shop": ["a"], "id": [7]}), 0)
    ('id = 7', "shop = 'a', id = 7")
    """
    columns = zip(keys.column_names, keys.columns, strict=True)
    return ", ".join(f"{name} = {_shown(column[row])}" for name, column in columns)


def _shown(value: pa.Scalar) -> str:
    try:
        return repr(value.as_py())
    except (OverflowError, ValueError, LookupError):  # Python has fewer dates and fewer zones
        return f"of type {value.type}, which Python cannot show"


def places(asked: pa.Table, answered: pa.Table) -> np.ndarray:
    """Return for each key asked for the row that answers it, -1 where there is none."""
    told = _told([asked, answered])
    mine, theirs = told[: asked.num_rows], told[asked.num_rows :]
    row = np.full(int(told.max(initial=0)) + 1, -1)
    row[theirs] = np.arange(len(theirs))
    return row[mine]


def distinct(keys: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each different key, and which of these each row has."""
    _, first, number = np.unique(_told([keys]), return_index=True, return_inverse=True)
    return first, number


def _told(tables: Sequence[pa.Table]) -> np.ndarray:
    """Return numbers for the rows of some tables, the same where Spark takes keys for equal.

    The columns are compared by place. Timestamps are equal in any zone, whole numbers at any width,
    NaN equals NaN, and 0.0 equals -0.0. No value becomes a Python object: Python has fewer dates
    and fewer zones than Spark.
    """
    columns = zip(*(table.columns for table in tables), strict=True)
    return _as_one([_values([each.combine_chunks() for each in parts]) for parts in columns])


def _as_one(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return numbers for rows of numbers."""
    found = columns[0]
    for each in columns[1:]:
        pair = found * (1 + int(each.max(initial=0))) + each
        found = np.unique(pair, return_inverse=True)[1]
    return found


def _values(parts: Sequence[pa.Array]) -> np.ndarray:
    """Return numbers for the values of some arrays, 0 for those missing."""
    kind = parts[-1].type
    there = np.concatenate([each.is_valid().to_numpy(zero_copy_only=False) for each in parts])
    if pa.types.is_struct(kind):
        inside = [_values(each) for each in zip(*(p.flatten() for p in parts), strict=True)]
        found = _as_one([np.zeros(len(there), np.int64), *inside])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        sizes = [pc.fill_null(pc.list_value_length(each), 0) for each in parts]
        ends = np.cumsum(np.concatenate([[0], *sizes]))
        items = _values([each.flatten() for each in parts])
        rows = [items[a:b].tobytes() for a, b in pairwise(ends.tolist())]
        number = {row: place for place, row in enumerate(dict.fromkeys(rows))}
        found = np.array([number[row] for row in rows], np.int64)
    else:
        kind = pa.int64() if pa.types.is_integer(kind) else kind
        whole = pa.concat_arrays([each.cast(kind) for each in parts])
        if pa.types.is_floating(kind):
            whole = pc.add(whole, pa.scalar(0.0, kind))  # of -0.0 that makes 0.0
            whole = pc.if_else(pc.is_nan(whole), pa.scalar(math.nan, kind), whole)
        indices = whole.dictionary_encode().indices.fill_null(0)
        found = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(there, found + 1, 0)
