"""Read a batch frame in the order of time, in parts, by a plan of what to take from it.

Few rows are sorted here. Many are sorted by Spark in as many partitions as it takes, each a part of
the time, and what the plan asks for is taken from each where it lies; rows themselves are not sent.
Rows of equal times stay in the order in which Spark reads them.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..profile.sketch import Arrays, Plan, Survey, pack, survey, take, unpack
from .keyed import KEY, TIME
from .runtime.arrow import gathered
from .runtime.packets import end_task, partition
from .session import partitions

ROW = "row"
PARTITION = 4_000_000  # rows that one partition sorts, about
CHUNK = 1 << 18  # rows that a plan is applied to at once, at least


def surveyed(rows: DataFrame) -> Survey:
    """Return how many rows there are, and from when to when."""
    kind = rows.schema[TIME].dataType.simpleString()
    schema = f"rows long, skipped long, earliest {kind}, latest {kind}, tick {kind}"
    found = Survey()
    for row in rows.select(TIME).mapInArrow(_survey_part, schema).collect():
        found = found.plus(Survey(*row))
    return found


def _survey_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found, kind = Survey(), pa.int64()
    for batch in batches:
        column = batch.column(0)
        kind = column.type
        times = column.drop_null().to_numpy(zero_copy_only=False)
        found = found.plus(survey(times, column.null_count))
    if found.rows or found.skipped:
        kinds = [pa.int64(), pa.int64(), kind, kind, kind]
        arrays = [pa.array([value], kind) for value, kind in zip(found, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(Survey._fields))
    end_task()


def collected(rows: DataFrame, plan: Plan, first: int) -> list[Arrays]:
    """Return what the plan asks for of few rows; `first` is the place of the first."""
    table = rows.where(F.col(KEY).isNotNull()).toArrow()
    key, time = (table[name].to_numpy() for name in (KEY, TIME))
    order = np.argsort(time, kind="stable")
    return [take(plan, key[order], time[order], first)]


def spread_out(rows: DataFrame, found: Survey, plan: Plan) -> list[Arrays]:
    """Return what the plan asks for of many rows; runs start anew in each partition."""
    parts = max(partitions(rows.sparkSession), -(-found.rows // PARTITION))
    numbered = rows.where(F.col(KEY).isNotNull()).withColumn(ROW, F.monotonically_increasing_id())
    by_time = numbered.repartitionByRange(parts, TIME, ROW).sortWithinPartitions(TIME, ROW)
    schema = "part long, chunk long, packet binary"
    packets = by_time.select(KEY, TIME).mapInArrow(_taker(plan), schema).toArrow()
    packets = packets.sort_by([("part", "ascending"), ("chunk", "ascending")])
    return [unpack(packet.as_buffer()) for packet in packets["packet"]]


def _taker(plan: Plan) -> Callable:
    """Return the function for `mapInArrow` that reads one partition by the plan."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part, first = partition(), 0
        for number, some in enumerate(filter(None, gathered(batches, CHUNK))):
            key, time = (column.to_numpy() for column in pa.Table.from_batches(some).columns)
            packet = pack(take(plan, key, time, first))
            first += len(key)
            yield pa.record_batch({"part": [part], "chunk": [number], "packet": [packet]})
        end_task()

    return read
