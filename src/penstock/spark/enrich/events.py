"""The events of a piece of work as columns, and as packets once they have their rows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..packets import to_ipc
from ..pieces import BYTES, ROWS, pieces
from ..plan import Input
from ..results import Packet
from ..rows import WHOLE, row_bytes
from ..wide import take_column
from .held import Rows
from .plan import LookupPlan


class Events(NamedTuple):
    """Some events in their order; those without a key are looked up nowhere."""

    table: pa.Table
    key_columns: pa.Table
    known: np.ndarray  # int64[k]: which events have a key
    key: np.ndarray  # int64[k]: that key, or its hash
    different: np.ndarray  # int64[d]: the different keys, in order
    first: np.ndarray  # int64[d]: the first event that has each of them
    number: np.ndarray  # int64[k]: which of the different keys an event has


def read_events(source: Input, table: pa.Table) -> Events:
    """Return events as they come in packets."""
    column = table.column(0).combine_chunks()
    known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    key = column.drop_null().to_numpy(zero_copy_only=False)
    different, first, number = np.unique(key, return_index=True, return_inverse=True)
    return Events(table, _key_columns(source, table), known, key, different, known[first], number)


def _key_columns(source: Input, table: pa.Table) -> pa.Table:
    if source.exact:
        name = source.keys[0]
        return pa.table({name: column_of(source, table, name)})
    return table.select(list(source.keys))


def column_of(source: Input, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of the events; a whole-number key travels as the key itself."""
    if source.pays(name):
        return table.column(name)
    return table.column(0).cast(WHOLE[source.types[source.names.index(name)]])


def to_packets(plan: LookupPlan, events: Events, hand: Rows, row: np.ndarray) -> Iterator[Packet]:
    """Return the events with their rows; `row` says which row each event with a key has."""
    size = events.table.num_rows
    rows = np.full(size, -1)
    rows[events.known] = row
    shown = np.arange(size)
    if plan.how == "inner":
        shown = events.known[hand.found[row]]
    for piece in pieces(_bytes(events, hand, rows[shown], shown), ROWS, BYTES):
        yield Packet(0, to_ipc(_joined(plan, events, hand, rows, shown[piece])))


def _bytes(events: Events, hand: Rows, rows: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return about how many bytes each event takes together with its row."""
    theirs = np.append(row_bytes(hand.table, len(hand)), 0)  # the last one is for those without
    return row_bytes(events.table, events.table.num_rows)[shown] + theirs[rows]


def _joined(
    plan: LookupPlan, events: Events, hand: Rows, rows: np.ndarray, shown: np.ndarray
) -> pa.Table:
    mine, theirs = pa.array(shown), pa.array(rows[shown], mask=rows[shown] < 0)
    columns = {
        name: column_of(plan.events, events.table, name).take(mine) for name in plan.events.names
    }
    for place, (_, new) in enumerate(plan.columns, plan.held_keys):
        columns[new] = take_column(hand.table, place, theirs)
    return pa.table(columns)
