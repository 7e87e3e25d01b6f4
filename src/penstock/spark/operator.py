"""The stateful operator: the one place that knows how Spark keeps state.

Another operator can take its place: all it does is hand a bucket its packets and its state, and
pass on packets and counters.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from .bucket import COUNTED, Bucket, Outcome
from .packets import from_ipc, settle
from .plan import Plan

SUMS = ("groups", "a", "e", "aa", "ae", "ee")


def counter_names(streams: int) -> list[str]:
    """Return the names of the counters that every bucket reports."""
    names = [f"{name}_{stream}" for name in COUNTED for stream in range(streams)]
    return [*names, "no_time", "matched", "held", "bytes", *(f"shadow_{name}" for name in SUMS)]


def run_buckets(packets: DataFrame, plan: Plan, streaming: bool) -> DataFrame:
    """Return results as packets, with counters in the first row of each bucket."""
    names = counter_names(len(plan.inputs))
    schema = "packet binary, " + ", ".join(f"{name} double" for name in names)
    grouped = packets.groupBy("bucket")
    if streaming:
        return grouped.applyInPandasWithState(
            _stateful(plan, names), schema, "state binary", "append", "NoTimeout"
        )
    return grouped.applyInArrow(_stateless(plan, names), schema)


def _stateful(plan: Plan, names: list[str]) -> Callable:
    numbers = {label: number for number, label in enumerate(plan.labels)}

    def advance(key: tuple, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        packets = [
            (int(side), packet)
            for frame in frames
            for side, packet in zip(frame["side"], frame["packet"], strict=True)
        ]
        before = bytes(state.get[0]) if state.exists else None
        outcome = Bucket(plan, numbers[key[0]], before).take(packets)
        if outcome.state is not None:
            state.update((outcome.state,))
        settle()
        columns = _columns(outcome, names, len(before or b""))
        yield pd.DataFrame(columns)

    return advance


def _stateless(plan: Plan, names: list[str]) -> Callable:
    numbers = {label: number for number, label in enumerate(plan.labels)}

    def finish(key: tuple, table: pa.Table) -> pa.Table:
        packets = list(zip(table["side"].to_pylist(), table["packet"].to_pylist(), strict=True))
        outcome = Bucket(plan, numbers[key[0].as_py()]).take(packets)
        settle()
        columns = _columns(outcome, names, 0)
        arrays = [pa.array(columns["packet"], pa.binary())]
        arrays += [pa.array(columns[name], pa.float64()) for name in names]
        return pa.Table.from_arrays(arrays, names=["packet", *names])

    return finish


def _columns(outcome: Outcome, names: list[str], old_bytes: int) -> dict[str, list]:
    """Return the rows to emit; the counters stand in the first, so that they add up once."""
    packets = outcome.packets or [b""]
    columns: dict[str, list] = {"packet": packets}
    for name in names:
        value = outcome.totals[name]
        if name == "bytes" and outcome.state is None and not value:
            value = float(old_bytes)
        columns[name] = [value] + [0.0] * (len(packets) - 1)
    return columns


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn packets of results into rows; for `mapInArrow`."""
    for batch in batches:
        for packet in batch.column(0):
            buffer = packet.as_buffer()
            if buffer is not None and buffer.size:
                yield from from_ipc(buffer).to_batches()
    settle()
