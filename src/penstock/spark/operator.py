"""The stateful operator: the one place that knows how Spark keeps state.

Another operator can take its place: all it does is hand a bucket its packets and its state, and
pass on packets and counters.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.util import PythonEvalType

from ..engines.kernel import NEVER
from .packets import settle
from .results import Ending, MicroBatch, Packet, Packets
from .session import batch_rows

SCHEMA = "join int, packet binary, counters array<double>, hottest string"
ARROW = pa.schema(
    [
        ("join", pa.int32()),
        ("packet", pa.binary()),
        ("counters", pa.list_(pa.float64())),
        ("hottest", pa.string()),
    ]
)
PACKED = ("side", "place", "latest", "digest", "packet")
WAITING = 64 << 20  # bytes of packets that may wait in a worker before they are sent


class OpenBucket(Protocol):
    """A bucket that goes on where an earlier micro-batch stopped."""

    def stream(self, batch: MicroBatch) -> Packets:
        """Take the packets of one micro-batch."""


class Work(NamedTuple):
    """What is to be done with the packets of each bucket."""

    open_bucket: Callable[[int, bytes | None], OpenBucket]  # by its number and its state
    labels: tuple[int, ...]
    sides: int
    counters: list[str]  # the names of what every bucket reports


def run_buckets(packets: DataFrame, work: Work, streaming: bool) -> DataFrame:
    """Return results as packets, with counters in the last row of each bucket."""
    grouped = packets.groupBy("bucket")
    if streaming:
        advance = _stateful(work, batch_rows(packets.sparkSession))
        made = grouped.applyInPandasWithState(
            advance, SCHEMA, "state binary", "append", "NoTimeout"
        )
    elif hasattr(PythonEvalType, "SQL_GROUPED_MAP_ARROW_ITER_UDF"):  # since Spark 4.1
        made = grouped.applyInArrow(_stateless(work), SCHEMA)
    else:
        made = grouped.applyInArrow(_at_once(_stateless(work)), SCHEMA)
    counters = [F.col("counters")[n].alias(name) for n, name in enumerate(work.counters)]
    return made.select("join", "packet", "hottest", *counters)


def _stateful(work: Work, batch: int | None) -> Callable:
    """Return the function for `applyInPandasWithState`; `batch` is how many rows PySpark gathers
    before it sends any."""
    numbers = {label: number for number, label in enumerate(work.labels)}
    waiting = Waiting(batch)

    def advance(key: tuple, frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        _hush()
        rows = [row for frame in frames for row in zip(*map(frame.get, PACKED), strict=True)]
        before = bytes(state.get[0]) if state.exists else None
        bucket = work.open_bucket(numbers[key[0]], before)
        stream = bucket.stream(_micro_batch(rows, work.sides))
        del rows, before
        ending = yield from waiting.frames(stream)
        if ending.state is not None:
            state.update((ending.state,))
        settle()
        yield pd.DataFrame(_last(ending, work.counters))

    return advance


class Waiting:
    """Packets that wait in a worker, and how to have them sent.

    PySpark gathers what `applyInPandasWithState` yields until it has more than
    `spark.sql.execution.arrow.maxRecordsPerBatch` rows, however large they are. So once many bytes
    wait, rows without a packet are added until there are enough. Each task has a `Waiting` of its
    own, over all its buckets.
    """

    def __init__(self, batch: int | None, most: int = WAITING):
        self.batch = batch
        self.most = most
        self.bytes = 0

    def frames(self, stream: Packets) -> Any:
        """Return the packets as frames to yield; ends with what the stream ends with."""
        while True:
            try:
                packet = next(stream)
            except StopIteration as end:
                return end.value
            self.bytes += len(packet.rows)
            empty = 0
            if self.batch is not None and self.bytes >= self.most:
                empty, self.bytes = self.batch, 0
            yield pd.DataFrame(_columns(packet, empty))


def _stateless(work: Work) -> Callable:
    """Return the function for `applyInArrow`."""
    numbers = {label: number for number, label in enumerate(work.labels)}

    def finish(
        key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(batches)
        rows = list(zip(*(table[name].to_pylist() for name in PACKED), strict=True))
        batch = _micro_batch(rows, work.sides)._replace(latest=None)  # all comes at once
        stream = work.open_bucket(numbers[key[0].as_py()], None).stream(batch)
        del table, rows, batch
        while True:
            try:
                yield pa.RecordBatch.from_pydict(_columns(next(stream)), ARROW)
            except StopIteration as end:
                yield pa.RecordBatch.from_pydict(_last(end.value, work.counters), ARROW)
                break
        settle()

    return finish


def _at_once(finish: Callable) -> Callable:
    """Return the function for a Spark that wants all rows of a group in one table."""

    def whole(key: tuple, table: pa.Table) -> pa.Table:
        return pa.Table.from_batches(finish(key, iter(table.to_batches())))

    return whole


def _micro_batch(rows: list[tuple], sides: int) -> MicroBatch:
    """Return what came for a bucket in the order in which it was packed, however it came."""
    rows = sorted(rows, key=lambda row: row[:2])
    latest = [NEVER] * sides
    for side, _, time, _, _ in rows:
        latest[side] = max(int(time), latest[side])
    packets = [(int(side), packet) for side, _, _, _, packet in rows]
    return MicroBatch(packets, latest, [digest for _, _, _, digest, _ in rows if digest])


def _columns(packet: Packet, empty: int = 0) -> dict[str, list]:
    """Return a packet as a row, and behind it some rows without one."""
    nothing = [None] * empty
    return {
        "join": [packet.join, *[0] * empty],
        "packet": [packet.rows, *nothing],
        "counters": [None, *nothing],
        "hottest": [None, *nothing],
    }


def _last(ending: Ending, names: list[str]) -> dict[str, list]:
    """Return the last row of a bucket: its counters, once, so that they can be added up."""
    return {
        "join": [0],
        "packet": [b""],
        "counters": [[ending.totals[name] for name in names]],
        "hottest": [ending.hottest],
    }


def _hush() -> None:
    """Keep PySpark's own use of pandas from warning, in every worker, of what is none of ours."""
    warnings.filterwarnings(
        "ignore", "The behavior of DataFrame concatenation with empty", FutureWarning
    )
