"""The stateful operator: the one place that knows how Spark keeps state.

Another operator can take its place: all it does is hand a bucket its packets and its state, and
pass on packets and counters.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from ..engines.kernel import NEVER
from .bucket import COUNTED, Bucket, Outcome
from .estimate import SUMS
from .packets import settle
from .plan import Plan
from .results import Packet

PACKET = "join int, packet binary"
PACKED = ("side", "place", "latest", "packet")


def counter_names(streams: int) -> list[str]:
    """Return the names of the counters that every bucket reports."""
    names = [f"{name}_{stream}" for name in COUNTED for stream in range(streams)]
    return [*names, "no_time", "matched", "held", "bytes", *(f"shadow_{name}" for name in SUMS)]


def run_buckets(packets: DataFrame, plan: Plan, streaming: bool) -> DataFrame:
    """Return results as packets, with counters in the first row of each bucket."""
    names = counter_names(len(plan.inputs))
    schema = PACKET + "".join(f", {name} double" for name in names)
    grouped = packets.groupBy("bucket")
    if streaming:
        return grouped.applyInPandasWithState(
            _stateful(plan, names), schema, "state binary", "append", "NoTimeout"
        )
    return grouped.applyInArrow(_stateless(plan, names), schema)


def _stateful(plan: Plan, names: list[str]) -> Callable:
    numbers = {label: number for number, label in enumerate(plan.labels)}

    def advance(key: tuple, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        _hush()
        rows = [row for frame in frames for row in zip(*map(frame.get, PACKED), strict=True)]
        before = bytes(state.get[0]) if state.exists else None
        bucket = Bucket(plan, numbers[key[0]], before)
        outcome = bucket.take(_in_order(rows), _latest(rows, len(plan.inputs)))
        if outcome.state is not None:
            state.update((outcome.state,))
        settle()
        yield pd.DataFrame(_columns(outcome, names))

    return advance


def _stateless(plan: Plan, names: list[str]) -> Callable:
    numbers = {label: number for number, label in enumerate(plan.labels)}

    def finish(key: tuple, table: pa.Table) -> pa.Table:
        rows = list(zip(*(table[name].to_pylist() for name in PACKED), strict=True))
        outcome = Bucket(plan, numbers[key[0].as_py()]).take(_in_order(rows))
        settle()
        made = _columns(outcome, names)
        kinds = [pa.int32(), pa.binary(), *[pa.float64()] * len(names)]
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
