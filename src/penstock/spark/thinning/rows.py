"""Readings and queries of a micro-batch as columns, and refreshes as packets."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...precision.thinning import KINDS, Refreshes
from ..packets import from_ipc, to_ipc
from ..pieces import BYTES, ROWS, column_bytes, pieces
from ..plan import Input
from ..results import Packet
from ..rows import WHOLE, as_microseconds
from .plan import ThinPlan

READINGS, QUERIES = 0, 1  # the sides that packets come from
LOW, HIGH, KIND, COST = "low", "high", "kind", "cost"
FIXED = 50  # bytes that a refresh takes beside its key, about


class Side(NamedTuple):
    """The rows of one side that can be used, and how many cannot."""

    key: np.ndarray  # int64
    time: np.ndarray  # int64: microseconds
    number: np.ndarray  # float64: the value that was read, or how wide an answer may be
    rounded: np.ndarray  # bool: no double equals the value; number is the nearest
    columns: list[Any]  # the key columns, where they do not stand for themselves
    dropped: dict[str, int]

    @property
    def size(self) -> int:
        """How many rows came."""
        return len(self.key) + sum(self.dropped.values())


def read_side(
    source: Input | None,
    packets: list[bytes],
    number: str,
    least: float,
    rounded: str | None = None,
) -> Side:
    """Return the rows of some packets, those left out that have no key, time or usable number."""
    some = [from_ipc(packet) for packet in packets if packet]
    if source is None or not some:
        none = np.empty(0, np.int64)
        return Side(none, none, np.empty(0), np.empty(0, np.bool_), [], {})
    table = pa.concat_tables(some)
    numbers = _floats(table.column(number))
    good, dropped = _usable(table.column(0), table.column(source.time), numbers, least)
    if dropped:
        table, numbers = table.filter(pa.array(good)), numbers[good]
    columns = [] if source.exact else [table.column(name) for name in source.keys]
    key = table.column(0).combine_chunks().to_numpy(zero_copy_only=False)
    inexact = np.zeros(len(key), np.bool_)
    if rounded is not None:
        inexact = table.column(rounded).combine_chunks().to_numpy(zero_copy_only=False)
    time = as_microseconds(table.column(source.time))
    return Side(key, time, numbers, inexact, columns, dropped)


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers; a null becomes NaN."""
    return column.combine_chunks().to_numpy(zero_copy_only=False)


def _usable(
    key: pa.ChunkedArray, time: pa.ChunkedArray, number: np.ndarray, least: float
) -> tuple[np.ndarray, dict[str, int]]:
    """Tell which rows can be used, and count the others, each for one reason."""
    good, dropped = np.ones(len(number), bool), {}
    reasons = {
        "null_key": lambda: _valid(key),
        "null_time": lambda: _valid(time),
        "no_number": lambda: np.isfinite(number) & (number >= least),
    }
    for name, look in reasons.items():
        passed = good & look()
        if count := int(good.sum() - passed.sum()):
            dropped[name] = count
        good = passed
    return good, dropped


def _valid(column: pa.ChunkedArray) -> np.ndarray:
    return column.is_valid().combine_chunks().to_numpy(zero_copy_only=False)


def to_packets(plan: ThinPlan, sides: list[Side], found: Refreshes) -> Iterator[Packet]:
    """Return refreshes as rows: key, time, low, high, kind, cost."""
    if not len(found.row):
        return
    keys = _key_columns(plan.readings, sides)
    sizes = np.full(len(found.row), FIXED)
    for column in keys:
        each = column_bytes(column)
        sizes += each if isinstance(each, int) else each[found.row]
    for piece in pieces(sizes, ROWS, BYTES):
        some = Refreshes(*(array[piece] for array in found))
        yield Packet(0, to_ipc(_table(plan, keys, some)))


def _table(plan: ThinPlan, keys: list[pa.ChunkedArray], found: Refreshes) -> pa.Table:
    source = plan.readings
    kinds = dict(zip(source.names, source.types, strict=True))
    rows = pa.array(found.row)
    columns: dict[str, Any] = {
        name: column.take(rows) for name, column in zip(source.keys, keys, strict=True)
    }
    zone = None if kinds[str(source.time)] == "timestamp_ntz" else "UTC"
    columns[str(source.time)] = pa.array(found.time).view(pa.timestamp("us", zone))
    cost = np.full(len(KINDS), plan.costs.value)
    cost[KINDS.index("asked")] = plan.costs.query
    return pa.table(
        columns
        | {
            LOW: found.low,
            HIGH: found.high,
            KIND: pc.take(pa.array(KINDS), pa.array(found.why)),
            COST: cost[found.why],
        }
    )


def _key_columns(source: Input, sides: list[Side]) -> list[pa.ChunkedArray]:
    """Return the key columns of all readings, then those of the queries."""
    if source.exact:
        kind = WHOLE[source.types[source.names.index(source.keys[0])]]
        return [pa.chunked_array([np.concatenate([side.key for side in sides])]).cast(kind)]
    some = [side for side in sides if side.columns]
    return [
        pa.chunked_array([chunk for side in some for chunk in side.columns[place].chunks])
        for place in range(len(source.keys))
    ]
