"""Make results: from the numbers of rows to packets of rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import BadInput
from ...relations.fetching import said
from ..frames import Input, Output, shared_keys
from ..plan import JoinPlan
from .arrow import BYTES, ROWS, equal, pieces, relaxed, to_ipc
from .bucket import Packet
from .segments import Segments

BESIDE = 16  # bytes of the key and the time of a row


class Absent(NamedTuple):
    """The numbers of rows that lack something which is not in their payload."""

    key: np.ndarray
    time: np.ndarray


class Results(NamedTuple):
    """Some results of one join."""

    join: int
    rows: np.ndarray  # int64[n, legs]: the numbers of their rows; in all or none of a column -1
    packet: Packet | None  # None while micro-batches are replayed, or where pairs are no results


def gather(
    plan: JoinPlan,
    streams: list[Segments],
    rows: np.ndarray,
    joined: np.ndarray,
    silent: bool = False,
    absent: Absent | None = None,
) -> Iterator[Results]:
    """Return results in packets of bounded size; `rows` holds row numbers, a column per leg.

    In a join of two -1 stands for no partner.
    """
    for join in range(len(plan.joins)):
        mine = rows[joined == join] if len(plan.joins) > 1 else rows
        for kind in (mine,) if plan.is_plain else _kinds(mine):
            for piece in _pieces(plan, join, streams, kind):
                some = _with_equal_keys(plan, join, streams, kind[piece])
                if not len(some):
                    continue
                hidden = silent or (plan.how == "anti" and (some[0] >= 0).all())
                packet = None
                if not hidden:
                    packet = Packet(join, to_ipc(_table(plan, join, streams, some, absent)))
                yield Results(join, some, packet)


def _kinds(rows: np.ndarray) -> list[np.ndarray]:
    """Return the pairs, then the left rows without a partner, then the right ones."""
    left, right = (rows >= 0).T
    return [rows[left & right], rows[left & ~right], rows[right & ~left]]


def _pieces(
    plan: JoinPlan, join: int, streams: list[Segments], rows: np.ndarray
) -> Iterator[slice]:
    """Cut results into pieces that fit into a packet, whatever their fan-out."""
    legs = [
        (leg, streams[stream])
        for leg, (stream, _) in enumerate(plan.joins[join])
        if len(rows) and rows[0, leg] >= 0
    ]
    largest = sum(held.largest + BESIDE for _, held in legs)
    if min(len(rows), ROWS) * largest <= BYTES:
        return (slice(first, first + ROWS) for first in range(0, len(rows), ROWS))
    sizes = np.full(len(rows), BESIDE * len(legs))
    for leg, held in legs:
        sizes += held.values("size", rows[:, leg])
    return pieces(sizes, ROWS, BYTES)


def _with_equal_keys(
    plan: JoinPlan, join: int, streams: list[Segments], rows: np.ndarray
) -> np.ndarray:
    """Return the results whose keys are really equal: equal hashes alone never make a result."""
    legs = [stream for stream, _ in plan.joins[join]]
    first = plan.inputs[legs[0]]
    if first.exact or not first.keys or not len(rows) or (rows[0] < 0).any():
        return rows
    keys = [
        columns_of(plan.inputs[stream], streams[stream], plan.inputs[stream].keys, rows[:, leg])
        for leg, stream in enumerate(legs)
    ]
    same = np.ones(len(rows), bool)
    for others in keys[1:]:
        for left, right in zip(keys[0], others, strict=True):
            same &= equal(left, right)
    if same.all():
        return rows
    if not plan.is_plain:
        columns = [each.cast(relaxed(each.type)) for each in keys[0]]
        key = said(pa.table(columns, names=list(first.keys)), int(np.argmin(same)))
        raise BadInput(
            f"another key has the same 64-bit hash as {key}, so that this join cannot tell which "
            "rows have no partner; number the keys and join on the numbers"
        )
    return rows[same]


def _table(
    plan: JoinPlan,
    join: int,
    streams: list[Segments],
    rows: np.ndarray,
    absent: Absent | None,
) -> pa.Table:
    output = plan.output[join]
    arrays: list[Any] = [pa.nulls(len(rows))] * len(output)
    legs = [(leg, stream) for leg, (stream, _) in enumerate(plan.joins[join]) if rows[0, leg] >= 0]
    for leg, stream in legs:
        source, numbers = plan.inputs[stream], rows[:, leg]
        mine = _places(plan, output, stream, alone=len(legs) == 1)
        found = columns_of(source, streams[stream], [name for _, name in mine], numbers)
        for (place, name), column in zip(mine, found, strict=True):
            if absent is not None and not source.is_payload(name):
                missing = absent.time if name == source.time else absent.key
                if len(missing):
                    column = pc.if_else(pa.array(np.isin(numbers, missing)), None, column)
            arrays[place] = column
    return pa.Table.from_arrays(arrays, names=[new for _, _, new in output])


def _places(plan: JoinPlan, output: Output, stream: int, alone: bool) -> list[tuple[int, str]]:
    """Return which columns of the output are filled from a stream, and with which of its columns.

    A row of the right stream that is `alone` fills the key columns that both have, too.
    """
    shared = shared_keys(plan.inputs[0], plan.inputs[stream]) if alone else set()
    return [
        (place, name)
        for place, (number, name, _) in enumerate(output)
        if number == stream or name in shared
    ]


def columns_of(
    source: Input, held: Segments, names: Sequence[str], number: np.ndarray
) -> list[Any]:
    """Return columns of some rows, wherever they are: in the payload or beside it."""
    payload = held.take([name for name in names if source.is_payload(name)], number)
    columns = []
    for name in names:
        if source.is_payload(name):
            columns.append(payload.column(name))
        elif name == source.time:
            columns.append(source.timestamps(held.values("time", number)))
        else:
            columns.append(source.whole_key(pa.array(held.values("key", number))))
    return columns
