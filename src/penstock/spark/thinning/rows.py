"""Readings and queries of a micro-batch as columns, and refreshes as packets."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...precision.thinning import KINDS, Refreshes
from ..packets import from_ipc, to_ipc
from ..plan import KEY, Input
from ..results import ROWS, Packet
from ..rows import WHOLE, as_microseconds
from .plan import ThinPlan

READINGS, QUERIES = 0, 1  # the sides that packets come from
LOW, HIGH, KIND, COST = "low", "high", "kind", "cost"


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
    good, dropped = _usable(table.column(KEY), table.column(source.time), numbers, least)
    if dropped:
        table, numbers = table.filter(pa.array(good)), numbers[good]
    columns = [] if source.exact else [table.column(name) for name in source.keys]
    key = table.column(KEY).combine_chunks().to_numpy(zero_copy_only=False)
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


def to_packets(plan: ThinPlan, sides: list[Side], found: Refreshes) -> list[Packet]:
    """Return refreshes as rows: key, time, low, high, kind, cost."""
    if not len(found.row):
        return []
    table = _table(plan, sides, found)
    return [Packet(0, to_ipc(table.slice(first, ROWS))) for first in range(0, table.num_rows, ROWS)]


def _table(plan: ThinPlan, sides: list[Side], found: Refreshes) -> pa.Table:
    source = plan.readings
    kinds = dict(zip(source.names, source.types, strict=True))
    columns: dict[str, Any] = dict(
        zip(source.keys, _keys(source, kinds, sides, found), strict=True)
    )
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


def _keys(source: Input, kinds: dict[str, str], sides: list[Side], found: Refreshes) -> list[Any]:
    """Return the key columns of the rows that brought refreshes about."""
    if source.exact:
        keys = np.concatenate([side.key for side in sides])[found.row]
        return [pa.array(keys).cast(WHOLE[kinds[source.keys[0]]])]
    some = [side for side in sides if side.columns]
    return [
        pa.chunked_array([chunk for side in some for chunk in side.columns[place].chunks]).take(
            pa.array(found.row)
        )
        for place in range(len(source.keys))
    ]
