"""Pack rows before the shuffle: one binary per bucket instead of a row at a time.

Sorting, shuffling and handing rows to Python cost per row; a packet of many rows costs once.
Payloads stay in Arrow's own form from here to the result and never become Python objects.
"""

import gc
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from ..engines.kernel import NEVER
from .buckets import sort_by_bucket

SCHEMA = "bucket int, side int, place long, latest long, packet binary"
ROWS = 1_000_000  # a packet holds at most so many rows
BYTES = 32 << 20  # and about so many bytes
_tasks = 0


def make_packer(
    side: int, labels: tuple[int, ...], names: Sequence[str], time: str | None
) -> Callable:
    """Return the function for `mapInArrow` that packs the rows of one side.

    `names` are those of the columns, the 64-bit key first: `mapInArrow` itself cannot take a name
    with a dot in it. Every packet also tells the latest `time`, if there is one, of all rows packed
    with it, whatever their bucket.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        # The shuffle brings packets in any order; by their places they are put back into one.
        task = TaskContext.get()
        place = task.partitionId() << 32 if task else 0
        for batch in batches:
            if batch.num_rows:
                waiting.append(batch.rename_columns(list(names)))
                rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= ROWS or size >= BYTES:
                yield _packets(waiting, side, place, labels, time)
                waiting, rows, size, place = [], 0, 0, place + 1
        # The last one is sent even if empty: so every bucket reports in every micro-batch.
        yield _packets(waiting, side, place, labels, time)
        settle()

    return pack


def _packets(
    batches: list[pa.RecordBatch], side: int, place: int, labels: tuple[int, ...], time: str | None
) -> pa.RecordBatch:
    blobs: list[bytes] = [b""] * len(labels)
    latest = NEVER
    if batches:
        table = pa.Table.from_batches(batches).combine_chunks()
        latest = NEVER if time is None else _latest(table.column(time))
        order, start = _by_bucket(table.column(0), len(labels))
        table = table.take(pa.array(order))
        for number in range(len(labels)):
            first, last = int(start[number]), int(start[number + 1])
            if last > first:
                blobs[number] = to_ipc(table.slice(first, last - first))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array([side] * len(labels), pa.int32()),
            pa.array([place] * len(labels), pa.int64()),
            pa.array([latest] * len(labels), pa.int64()),
            pa.array(blobs, pa.binary()),
        ],
        names=["bucket", "side", "place", "latest", "packet"],
    )


def _latest(times: pa.ChunkedArray) -> int:
    """Return the latest time in microseconds, which is what Spark counts in."""
    latest = pc.max(times.cast(pa.int64())).as_py()
    return NEVER if latest is None else latest


def _by_bucket(keys: pa.ChunkedArray, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    # A null key belongs nowhere; it is sent somewhere to be counted.
    numbers = keys.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False)
    n = len(numbers)
    start, order = np.zeros(buckets + 1, np.int64), np.empty(n, np.int64)
    sort_by_bucket(np.ascontiguousarray(numbers), buckets, np.empty(n, np.int64), start, order)
    return order, start


def to_ipc(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_ipc(blob: bytes | memoryview) -> pa.Table:
    """Return the table of an Arrow IPC stream, without copying it."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


def settle() -> None:
    """Take what is loaded out of the garbage collector's sight.

    A PySpark worker runs a full collection after every task, which costs 40 ms with Numba and
    pandas loaded. The first tasks import and compile; what they leave stays for good.
    """
    global _tasks
    _tasks += 1
    if _tasks in (1, 2, 4, 8):
        gc.collect()
        gc.freeze()
