"""A frame as the samplers see it: 64 bits that stand for the key, and the time as a number.

A batch frame is read in the order of time, in parts, by a plan of what to take from it. Few rows
are sorted here. Many are sorted by Spark in as many partitions as it takes, each a part of the
time, and what the plan asks for is taken from each where it lies; rows themselves are not sent.
Rows of equal times stay in the order in which Spark reads them.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...errors import BadInput
from ...profile.sketch import Arrays, Plan, Survey, pack, survey, take, unpack
from ..frames import EXACT, as_names, check_columns, check_keys, hashed_key, is_exact, micros, quote
from ..runtime.arrow import gathered
from ..runtime.packets import end_task, partition
from ..session import partitions

KEY, TIME, ROW = "key", "time", "row"
MICRO = 1_000_000  # microseconds in a second
DAY = 86_400 * MICRO
CALENDAR = (T.TimestampType, T.TimestampNTZType, T.DateType)  # counted in microseconds
PARTITION = 4_000_000  # rows that one partition sorts, about
CHUNK = 1 << 18  # rows that a plan is applied to at once, at least


def keyed_rows(frame: DataFrame, key: str | list[str], time: str) -> DataFrame:
    """Return the columns `key`, 64 bits, and `time`, a number: both null where either is."""
    keys = as_names(key, "key")
    check_columns(frame, "given", (*keys, time))
    check_keys(frame, "given", keys, "key")
    number, when = hashed_key(frame, keys, is_exact(frame, keys)), _time(frame, time)
    there = number.isNotNull() & when.isNotNull()
    return frame.select(F.when(there, number).alias(KEY), F.when(there, when).alias(TIME))


def _time(frame: DataFrame, name: str) -> Column:
    """Return times as numbers: of timestamps and dates the microseconds."""
    kind, column = frame.schema[name].dataType, F.col(quote(name))
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("long") * F.lit(DAY)
    if isinstance(kind, CALENDAR):
        return micros(quote(name), kind)
    if isinstance(kind, EXACT):
        return column.cast("long")
    if isinstance(kind, T.FloatType | T.DoubleType | T.DecimalType):
        number = column.cast("double")
        return F.when(~F.isnan(number), number)
    raise BadInput(
        f"time column {name!r} must hold timestamps, dates or numbers, got {kind.simpleString()};"
        " cast it with to_timestamp"
    )


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
        schema = pa.schema(zip(Survey._fields, kinds, strict=True))
        yield pa.RecordBatch.from_pylist([found._asdict()], schema)
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
