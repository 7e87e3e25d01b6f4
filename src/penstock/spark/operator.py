"""The stateful operator: the one place that knows how Spark keeps state.

Another operator can take its place: all it does is hand a bucket its packets and its state, and
pass on packets and counters.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from ..engines.kernel import NEVER
from .packets import settle
from .results import Outcome, Packet

PACKET = "join int, packet binary"
PACKED = ("side", "place", "latest", "packet")


class OpenBucket(Protocol):
    """A bucket that goes on where an earlier micro-batch stopped."""

    def take(
        self, packets: list[tuple[int, bytes]], latest: Sequence[int] | None = None
    ) -> Outcome:
        """Take the packets (side, rows) of one micro-batch, in the order of their packing."""


class Work(NamedTuple):
    """What is to be done with the packets of each bucket."""

    open_bucket: Callable[[int, bytes | None], OpenBucket]  # by its number and its state
    labels: tuple[int, ...]
    sides: int
    counters: list[str]  # the names of what every bucket reports


def run_buckets(packets: DataFrame, work: Work, streaming: bool) -> DataFrame:
    """Return results as packets, with counters in the first row of each bucket."""
    schema = PACKET + "".join(f", {name} double" for name in work.counters)
    grouped = packets.groupBy("bucket")
    if streaming:
        return grouped.applyInPandasWithState(
            _stateful(work), schema, "state binary", "append", "NoTimeout"
        )
    return grouped.applyInArrow(_stateless(work), schema)


def _stateful(work: Work) -> Callable:
    numbers = {label: number for number, label in enumerate(work.labels)}

    def advance(key: tuple, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        _hush()
        rows = [row for frame in frames for row in zip(*map(frame.get, PACKED), strict=True)]
        before = bytes(state.get[0]) if state.exists else None
        bucket = work.open_bucket(numbers[key[0]], before)
        outcome = bucket.take(_in_order(rows), _latest(rows, work.sides))
        if outcome.state is not None:
            state.update((outcome.state,))
        settle()
        yield pd.DataFrame(_columns(outcome, work.counters))

    return advance


def _stateless(work: Work) -> Callable:
    numbers = {label: number for number, label in enumerate(work.labels)}

    def finish(key: tuple, table: pa.Table) -> pa.Table:
        rows = list(zip(*(table[name].to_pylist() for name in PACKED), strict=True))
        outcome = work.open_bucket(numbers[key[0].as_py()], None).take(_in_order(rows))
        settle()
        made = _columns(outcome, work.counters)
        kinds = [pa.int32(), pa.binary(), *[pa.float64()] * len(work.counters)]
        arrays = [pa.array(made[name], kind) for name, kind in zip(made, kinds, strict=True)]
        return pa.Table.from_arrays(arrays, names=list(made))

    return finish


def _in_order(rows: list[tuple]) -> list[tuple[int, bytes]]:
    """Return (side, packet) in the order in which they were packed, however they came."""
    return [(int(side), packet) for side, _, _, packet in sorted(rows, key=lambda row: row[:2])]


def _latest(rows: list[tuple], sides: int) -> list[int]:
    """Return the latest time of each side in the whole micro-batch."""
    latest = [NEVER] * sides
    for side, _, time, _ in rows:
        latest[side] = max(int(time), latest[side])
    return latest


def _columns(outcome: Outcome, names: list[str]) -> dict[str, list]:
    """Return the rows to emit; the counters stand in the first, so that they add up once."""
    packets = outcome.packets or [Packet(0, b"")]
    columns: dict[str, list] = {
        "join": [packet.join for packet in packets],
        "packet": [packet.rows for packet in packets],
    }
    for name in names:
        columns[name] = [outcome.totals[name]] + [0.0] * (len(packets) - 1)
    return columns


def _hush() -> None:
    """Keep PySpark's own use of pandas from warning, in every worker, of what is none of ours."""
    warnings.filterwarnings(
        "ignore", "The behavior of DataFrame concatenation with empty", FutureWarning
    )
