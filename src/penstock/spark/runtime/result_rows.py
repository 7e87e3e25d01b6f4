"""What the operator gives out: results as rows, or as packets that another stage unpacks.

Rows save that stage, and its processes. They leave the operator as columns of pandas that are
Arrow's own, which PySpark passes on as they are; of nested types it would make Python objects, so
these travel in packets. The last row of a bucket carries its counters; if there is no result, a
row does that has no `join`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..frames import arrow_schema
from ..session import uses_wide_types
from .arrow import fitted, from_ipc
from .bucket import About, Packet
from .packets import unpack_as

JOIN = T.StructField("join", T.IntegerType())
PACKET = T.StructField("packet", T.BinaryType())
ABOUT = [T.StructField(name, T.LongType()) for name in About._fields]
BESIDE = [T.StructField(name, T.StringType()) for name in ("counters", "hottest")]
PLAIN = (
    T.BooleanType,
    T.IntegralType,
    T.FractionalType,
    T.StringType,
    T.BinaryType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
)


WIDTH = 25  # characters of a counter in a text of them, the comma after it among them


class Report(NamedTuple):
    """What a bucket reports, once in every micro-batch."""

    counters: str | None = None
    hottest: str | None = None


NOTHING = Report()


def counters_text(report: dict[str, float], names: Sequence[str]) -> str:
    """Return the counters of a bucket as a text in which each has its place.

    An array would be slow in pandas. And Spark would have to make one of the text of every row,
    before it adds counters up, by which all columns of all results would be copied.

    >>> [each.strip() for each in counters_text({"a": 1.0, "c": 0.5}, "abc").split(",")]
    ['1.0', '0.0', '0.5']
    """
    # An executor may lack packages of policies that the driver has: these count nothing.
    return ",".join(repr(float(report.get(name, 0.0))).rjust(WIDTH - 1) for name in names)


def plain_rows(schema: T.StructType) -> T.StructType | None:
    """Return the type of results that can be given out as rows, None where they cannot."""
    return schema if all(isinstance(f.dataType, PLAIN) for f in schema.fields) else None


def output_schema(rows: T.StructType | None, archived: bool = False) -> T.StructType:
    """Return what the operator gives out; what is archived leaves it in packets."""
    columns = [] if rows is None else _numbered(rows)
    columns += [PACKET] if archived or rows is None else []
    return T.StructType([JOIN, *columns, *(ABOUT if archived else []), *BESIDE])


def _numbered(rows: T.StructType) -> list[T.StructField]:
    """Return columns under names that are free, and that may be null in a row of counters."""
    return [T.StructField(f"c{place}", f.dataType) for place, f in enumerate(rows.fields)]


def results(
    packet: Packet,
    rows: T.StructType | None,
    report: Report = NOTHING,
    archived: bool = False,
) -> pa.Table:
    """Return a packet as the operator gives it out, with the columns of `output_schema`."""
    is_packed = rows is None or packet.about is not None
    found = pa.table({})
    if rows is not None:
        arrow = arrow_schema(rows)
        has_rows = packet.rows and not is_packed
        found = fitted(from_ipc(packet.rows), arrow) if has_rows else arrow.empty_table()
    count, number = max(1, len(found)), packet.join if is_packed or len(found) else None
    columns: dict[str, Any] = {JOIN.name: pa.repeat(pa.scalar(number, pa.int32()), count)}
    for field, column in zip(_numbered(rows) if rows else [], found.columns, strict=True):
        columns[field.name] = column if len(found) else pa.nulls(1, column.type)
    if archived or rows is None:
        blob = pa.scalar(packet.rows if is_packed else None, pa.binary())
        columns[PACKET.name] = pa.repeat(blob, count)
    for field, value in zip(ABOUT, packet.about or [None] * len(ABOUT), strict=True):
        if archived:
            columns[field.name] = pa.repeat(pa.scalar(value, pa.int64()), count)
    for field, text in zip(BESIDE, report, strict=True):
        last = pa.array([text], pa.string())
        columns[field.name] = pa.concat_arrays([pa.nulls(count - 1, pa.string()), last])
    return pa.table(columns).combine_chunks()


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame that holds Arrow's own columns."""
    columns = {
        name: pd.Series(pd.arrays.ArrowExtensionArray(column), copy=False)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pd.DataFrame(columns, copy=False)


def rows_of(made: DataFrame, schema: T.StructType) -> DataFrame:
    """Return the rows of results that have one schema, whatever they were given out as."""
    if _numbered(schema)[0].name not in made.columns:
        arrow = arrow_schema(schema, uses_wide_types(made.sparkSession))
        return made.select(JOIN.name, PACKET.name).mapInArrow(unpack_as(arrow), schema)
    named = [
        F.col(mine.name).alias(field.name, metadata=field.metadata or {})
        for mine, field in zip(_numbered(schema), schema.fields, strict=True)
    ]
    return made.where(F.col(JOIN.name).isNotNull()).select(*named)
