"""Fetch the rows of many keys, in queries of bounded size, and check the answers.

An answer must have the columns and types that the source had when the query started, and at most
one row per key.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadInput
from .patience import Patience, ask
from .sources import Source


class Answer(NamedTuple):
    """The rows of the keys that were asked for."""

    rows: pa.Table  # the promised columns
    row: np.ndarray  # int64[asked]: which of the rows a key has, -1 for none
    sent: np.ndarray  # int64[asked]: when the query was sent, in microseconds


class Fetcher:
    """Asks a source, and counts queries, retries and keys."""

    def __init__(
        self,
        source: Source,
        promised: pa.Schema,
        patience: Patience,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.source = source
        self.promised = promised
        self.patience = patience
        self.clock = clock
        self.sleep = sleep
        self.counts = dict.fromkeys(("calls", "retries", "asked", "fetched"), 0)

    def fetch(self, keys: pa.Table) -> Answer:
        """Return the rows of some keys, all of them different."""
        parts = [
            self._ask(keys.slice(first, self.patience.size))
            for first in range(0, keys.num_rows, self.patience.size)
        ]
        tables = [part.rows for part in parts]
        rows = pa.concat_tables([self.promised.empty_table(), *tables]).combine_chunks()
        before = np.cumsum([0, *map(len, tables)])
        found = [
            np.where(part.row >= 0, part.row + start, -1)
            for part, start in zip(parts, before, strict=False)
        ]
        nothing = np.empty(0, np.int64)
        return Answer(
            rows,
            np.concatenate([nothing, *found]),
            np.concatenate([nothing, *(part.sent for part in parts)]),
        )

    def _ask(self, keys: pa.Table) -> Answer:
        source = self.source
        tried = ask(lambda: source.fetch(keys), self.patience, source, self.clock, self.sleep)
        rows = conform(tried.answer, self.promised, source.keys, source.name)
        row = places(keys, rows.select(list(source.keys)))
        self.counts["calls"] += tried.tries
        self.counts["retries"] += tried.tries - 1
        self.counts["asked"] += len(row)
        self.counts["fetched"] += int((row >= 0).sum())
        return Answer(rows, row, np.full(len(row), tried.sent))


def conform(answer: pa.Table, promised: pa.Schema, keys: tuple[str, ...], who: str) -> pa.Table:
    """Return the promised columns, in their order and types, refusing two rows for one key.

    Columns that were not promised are left out: a table may grow new ones while a query runs.
    """
    columns = []
    for field in promised:
        if field.name not in answer.column_names:
            raise BadInput(
                f"the answer of {who} lacks the column {field.name!r}, which it had when the query "
                f"started; it has {', '.join(answer.column_names)}"
            )
        columns.append(_cast(answer.column(field.name), field, who))
    table = pa.Table.from_arrays(columns, schema=promised)
    refuse_doubles(table.select(list(keys)), who)
    return table


def _cast(column: pa.ChunkedArray, field: pa.Field, who: str) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.storage_type)
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadInput(
            f"column {field.name!r} of {who} was {field.type} when the query started, and now an "
            f"answer has {column.type}: {error}; cast it to one type"
        ) from None


def refuse_doubles(keys: pa.Table, who: str) -> None:
    """Refuse an answer with two rows for one key, naming it."""
    if keys.num_rows < 2:
        return
    counted = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    if counted.num_rows == keys.num_rows:
        return
    double = counted.filter(pc.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()[0]
    count = double.pop("count_all")
    raise BadInput(
        f"{who} has {count} rows for the key {said(double)}; a lookup needs one at most: choose "
        "one in query=, or another key"
    )


def said(key: dict[str, Any]) -> str:
    """Return a key as messages show it.

    >>> said({"id": 7}), said({"shop": "a", "id": 7})
    ('id = 7', "shop = 'a', id = 7")
    """
    return ", ".join(f"{name} = {value!r}" for name, value in key.items())


def places(asked: pa.Table, answered: pa.Table) -> np.ndarray:
    """Return for each key asked for the row that answers it, -1 where there is none."""
    if asked.num_columns == 1 and not pa.types.is_nested(asked.column(0).type):
        mine, theirs = asked.column(0), answered.column(0)
        if mine.type != theirs.type:  # whole numbers of another width
            mine, theirs = mine.cast(pa.int64()), theirs.cast(pa.int64())
        found = pc.index_in(mine, value_set=theirs.combine_chunks())
        return found.fill_null(-1).to_numpy().astype(np.int64)
    known = {repr(row): place for place, row in enumerate(_values(answered))}
    return np.array([known.get(repr(row), -1) for row in _values(asked)], np.int64)


def _values(keys: pa.Table) -> list[tuple]:
    return list(zip(*(column.to_pylist() for column in keys.columns), strict=True))
