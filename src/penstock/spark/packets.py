"""Pack rows before the shuffle: one binary per bucket instead of a row at a time.

Sorting, shuffling and handing rows to Python cost per row; a packet of many rows costs once.
Payloads stay in Arrow's own form from here to the result and never become Python objects.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from ..engines.kernel import NEVER
from ..engines.ledger import digest
from .buckets import sort_by_bucket

SCHEMA = "bucket int, side int, place long, latest long, digest binary, packet binary"
ROWS = 1_000_000  # a packet holds at most so many rows
BYTES = 32 << 20  # and about so many bytes
_tasks = 0


class Packing(NamedTuple):
    """How the rows of one side are packed."""

    side: int
    labels: tuple[int, ...]
    names: Sequence[str]  # of the columns, the 64-bit key first
    time: str | None
    shared: str | None = None  # what a budget counts that buckets share: they want digests
    charge: int = 0  # bytes that the engine takes for a row beside its payload
    within: int | None = None  # which rows digests are about: see `engines.ledger.digest`


def make_packer(packing: Packing) -> Callable:
    """Return the function for `mapInArrow` that packs the rows of one side.

    `mapInArrow` itself cannot take a name with a dot in it, so columns get their names here. Every
    packet also tells the latest time, if there is one, and a digest (`engines.ledger`), if it is
    wanted, of all rows packed with it, whatever their bucket.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        # The shuffle brings packets in any order; by their places they are put back into one.
        task = TaskContext.get()
        place = task.partitionId() << 32 if task else 0
        for batch in batches:
            if batch.num_rows:
                waiting.append(batch.rename_columns(list(packing.names)))
                rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= ROWS or size >= BYTES:
                yield _packets(waiting, place, packing)
                waiting, rows, size, place = [], 0, 0, place + 1
        # The last one is sent even if empty: so every bucket reports in every micro-batch.
        yield _packets(waiting, place, packing)
        settle()

    return pack


def _packets(batches: list[pa.RecordBatch], place: int, packing: Packing) -> pa.RecordBatch:
    labels, time = packing.labels, packing.time
    blobs: list[bytes] = [b""] * len(labels)
    latest, digested = NEVER, b""
    if batches:
        table = pa.Table.from_batches(batches).combine_chunks()
        latest = NEVER if time is None else _latest(table.column(time))
        digested = _digest(table, packing)
        order, start = _by_bucket(table.column(0), len(labels))
        table = table.take(pa.array(order))
        for number in range(len(labels)):
            first, last = int(start[number]), int(start[number + 1])
            if last > first:
                blobs[number] = to_ipc(table.slice(first, last - first))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array([packing.side] * len(labels), pa.int32()),
            pa.array([place] * len(labels), pa.int64()),
            pa.array([latest] * len(labels), pa.int64()),
            pa.array([digested] * len(labels), pa.binary()),
            pa.array(blobs, pa.binary()),
        ],
        names=["bucket", "side", "place", "latest", "digest", "packet"],
    )


def _digest(table: pa.Table, packing: Packing) -> bytes:
    """Return what buckets that share a budget must know of all rows."""
    if packing.shared is None or packing.time is None:
        return b""
    key, time = table.column(0), table.column(packing.time)
    usable = pc.and_(key.is_valid(), time.is_valid())
    keys = key.filter(usable).to_numpy()
    times = time.filter(usable).cast(pa.int64()).to_numpy()
    size = len(keys)
    if packing.shared == "bytes":
        size = (table.nbytes // table.num_rows + packing.charge) * len(keys)
    return digest(packing.side, keys, times, size, packing.within).encode()


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
