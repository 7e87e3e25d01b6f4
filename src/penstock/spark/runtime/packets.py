"""Pack rows before the shuffle: one binary per bucket instead of a row at a time.

Sorting, shuffling and handing rows to Python cost per row; a packet of many rows costs once.
Payloads stay in Arrow's own form from here to the result and never become Python objects.
"""

import ctypes
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...engine.ledger import digest
from ...kernel.jit import cache_folder, names_of, packed
from ..frames import Input, hashed_key, quote
from ..session import check_workers
from .arrow import fitted, from_ipc, gathered, to_ipc
from .kernels import Kernels, is_local
from .labels import sort_by_bucket
from .segments import SEGMENT

SCHEMA = "bucket int, side int, place long, digest binary, packet binary"
PACKED = ("side", "place", "digest", "packet")  # what comes to a bucket of it
ROWS = 1_000_000  # a packet holds at most so many rows
BYTES = 32 << 20  # and about so many bytes
_tasks = 0


class Shared(NamedTuple):
    """What buckets that share a budget must be told of all rows, by digests."""

    in_bytes: bool  # what the budget counts: bytes, or rows
    charge: int  # bytes that the engine takes for a row beside its payload
    within: int | None  # which rows digests are about: see `engine.ledger.digest`


class Packing(NamedTuple):
    """How the rows of one side are packed."""

    side: int
    labels: tuple[int, ...]
    names: Sequence[str]  # of the columns, the 64-bit key first
    time: str | None
    shared: Shared | None = None
    kernels: Kernels = Kernels()


def pack(
    frames: Sequence[DataFrame],
    inputs: Sequence[Input],
    labels: tuple[int, ...],
    shared: Shared | None = None,
) -> DataFrame:
    """Return the rows of all frames, which are the sides, as packets, one per bucket."""
    check_workers(frames[0].sparkSession)
    kernels = _kernels(frames[0].sparkSession)
    sides = []
    for side, (frame, source) in enumerate(zip(frames, inputs, strict=True)):
        needed = [F.col(quote(name)) for name in source.packed[1:]]
        columns = [hashed_key(frame, source.keys, source.exact, source.near), *needed]
        safe = [column.alias(f"c{place}") for place, column in enumerate(columns)]
        packing = Packing(side, labels, source.packed, source.time, shared, kernels)
        sides.append(frame.select(*safe).mapInArrow(make_packer(packing), SCHEMA))
    return reduce(DataFrame.unionByName, sides)


def _kernels(session: Any) -> Kernels:
    """Return what packing needs on other machines, which is little of what a bucket needs."""
    if is_local(session) or cache_folder() is None:
        return Kernels()
    _by_bucket(pa.chunked_array([[1, 2]]), 2)
    return Kernels(sent=packed(names_of(sort_by_bucket)))


def make_packer(packing: Packing) -> Callable:
    """Return the function for `mapInArrow` that packs the rows of one side.

    `mapInArrow` itself cannot take a name with a dot in it, so columns get their names here. Every
    packet also carries a digest (`engine.ledger`), where it is wanted, of all rows packed with it,
    whatever their bucket.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        packing.kernels.use()
        # The shuffle brings packets in any order; by their places they are put back into one. The
        # last one is sent even if empty: so every bucket reports in every micro-batch.
        for place, some in enumerate(gathered(batches, ROWS, BYTES), partition() << 32):
            yield _packets(some, place, packing)
        end_task()

    return pack


def _packets(batches: list[pa.RecordBatch], place: int, packing: Packing) -> pa.RecordBatch:
    labels = packing.labels
    blobs: list[bytes] = [b""] * len(labels)
    digested = b""
    if batches:
        table = pa.Table.from_batches(batches).rename_columns(list(packing.names)).combine_chunks()
        digested = _digest(table, packing)
        order, start = _by_bucket(table.column(0), len(labels))
        table = table.take(pa.array(order))
        for number in range(len(labels)):
            first, last = int(start[number]), int(start[number + 1])
            if last > first:
                blobs[number] = to_ipc(table.slice(first, last - first), SEGMENT)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array([packing.side] * len(labels), pa.int32()),
            pa.array([place] * len(labels), pa.int64()),
            pa.array([digested] * len(labels), pa.binary()),
            pa.array(blobs, pa.binary()),
        ],
        names=["bucket", "side", "place", "digest", "packet"],
    )


def _digest(table: pa.Table, packing: Packing) -> bytes:
    """Return what buckets that share a budget must know of all rows."""
    shared = packing.shared
    if shared is None or packing.time is None:
        return b""
    key, time = table.column(0), table.column(packing.time)
    usable = pc.and_(key.is_valid(), time.is_valid())
    keys = key.filter(usable).to_numpy()
    times = time.filter(usable).cast(pa.int64()).to_numpy()
    size = len(keys)
    if shared.in_bytes:
        size = (table.nbytes // table.num_rows + shared.charge) * len(keys)
    return digest(packing.side, keys, times, size, shared.within).encode()


def _by_bucket(keys: pa.ChunkedArray, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    # A null key belongs nowhere; it is sent somewhere to be counted.
    numbers = keys.combine_chunks().fill_null(0).to_numpy(zero_copy_only=False)
    n = len(numbers)
    start, order = np.zeros(buckets + 1, np.int64), np.empty(n, np.int64)
    sort_by_bucket(np.ascontiguousarray(numbers), buckets, np.empty(n, np.int64), start, order)
    return order, start


def partition() -> int:
    """Return the number of the partition that this task works on, 0 outside of one."""
    task = TaskContext.get()
    return task.partitionId() if task else 0


def end_task() -> None:
    """Exempt what is loaded from garbage collection, and return the memory that a task has left.

    A PySpark worker runs a full collection after every task, which costs 40 ms with Numba and
    pandas loaded. The first tasks import and compile; what they leave stays for good. Arrow and the
    C library keep what is freed: a worker would keep as much as its largest micro-batch took.
    """
    global _tasks
    _tasks += 1
    if _tasks in (1, 2, 4, 8):
        gc.collect()
        gc.freeze()
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """Return what has the C library return free memory, None where there is no such function."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not the GNU library
        return None


def unpack_as(schema: pa.Schema) -> Callable:
    """Return the function for `mapInArrow` that turns packets into rows.

    Buckets that hold rows since before a restart may describe them otherwise than those that do
    not; Spark wants one schema of all.
    """

    def unpack_join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, table in _tables(batches):
            yield from fitted(table, schema).to_batches()
        end_task()

    return unpack_join


def make_unpacker(names: list[str], kinds: list[pa.DataType]) -> Callable:
    """Return the function for `mapInArrow` that unpacks several joins into one struct each."""

    def unpack_group(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for join, table in _tables(batches):
            for batch in table.to_batches():
                columns = [pa.nulls(batch.num_rows, kind) for kind in kinds]
                columns[join] = batch.to_struct_array().cast(kinds[join])
                label = pa.array([names[join]] * batch.num_rows, pa.string())
                yield pa.RecordBatch.from_arrays([label, *columns], names=["join", *names])
        end_task()

    return unpack_group


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    for batch in batches:
        for join, packet in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            buffer = packet.as_buffer()
            if buffer is not None and buffer.size:
                yield join, from_ipc(buffer)
