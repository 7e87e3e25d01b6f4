"""Turn packets of results back into rows."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from .alike import fitted
from .packets import from_ipc, settle


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn packets whose rows have one schema into rows; for `mapInArrow`."""
    for _, table in _tables(batches):
        yield from table.to_batches()
    settle()


def unpack_as(schema: pa.Schema) -> Callable:
    """Return the function for `mapInArrow` that turns the packets of one join into rows.

    Buckets that hold rows since before a restart may describe them otherwise than those that do
    not; Spark wants one schema of all.
    """

    def unpack_join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, table in _tables(batches):
            yield from fitted(table, schema).to_batches()
        settle()

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
        settle()

    return unpack_group


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    for batch in batches:
        for join, packet in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            buffer = packet.as_buffer()
            if buffer is not None and buffer.size:
                yield join, from_ipc(buffer)
