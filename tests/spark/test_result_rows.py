"""Results leave the operator as columns of Arrow's own, and PySpark passes them on as they are."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from penstock.spark.frames import arrow_schema
from penstock.spark.runtime.arrow import to_ipc
from penstock.spark.runtime.bucket import Packet
from penstock.spark.runtime.result_rows import (
    NOTHING,
    Report,
    as_pandas,
    output_schema,
    plain_rows,
    results,
)

conversion = pytest.importorskip("pyspark.sql.conversion")
LARGE = 2**62 + 1  # which no double is
FAR = [-62135596800000000, None, 253402300799999999]  # the years 1 and 9999
VALUES = {
    T.BooleanType(): [True, None, False],
    T.ByteType(): [1, None, -3],
    T.ShortType(): [1, None, -3],
    T.IntegerType(): [1, None, -3],
    T.LongType(): [LARGE, None, -LARGE],
    T.FloatType(): [1.5, None, -0.0],
    T.DoubleType(): [1.5, None, float("inf")],
    T.DecimalType(38, 10): [Decimal("1.0000000001"), None, Decimal(-3)],
    T.StringType(): ["a", None, ""],
    T.BinaryType(): [b"a", None, b""],
    T.DateType(): [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)],
    T.TimestampType(): FAR,
    T.TimestampNTZType(): FAR,
}
EVERY = T.StructType(
    [T.StructField(f"a column {place}", kind) for place, kind in enumerate(VALUES)]
)


def every_type():
    """Return a row of each kind of value, in every plain type."""
    schema = arrow_schema(EVERY)
    columns = [
        pa.array(values, pa.int64()).view(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(values, field.type)
        for field, values in zip(schema, VALUES.values(), strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def as_spark_gets_it(frame, rows):
    """Return the columns that PySpark makes of a frame which a processor gives out."""
    schema = T.StructType([T.StructField("_0", output_schema(rows))])
    made = conversion.PandasToArrowConversion.convert(
        [frame], schema, timezone="Europe/Berlin", arrow_cast=True, assign_cols_by_name=True
    )
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(made.column(0))])


def test_every_plain_type_arrives_as_it_was():
    if not hasattr(conversion, "PandasToArrowConversion"):
        pytest.skip("this PySpark converts elsewhere; the tests on Spark compare results")
    table = every_type()
    told = Report("1.0,2.0", "{}")
    made = results(Packet(0, to_ipc(table)), plain_rows(EVERY), told)
    got = as_spark_gets_it(as_pandas(made), EVERY)
    assert got.column_names == [field.name for field in output_schema(EVERY).fields]
    for place, name in enumerate(table.column_names):
        assert got[f"c{place}"].cast(table[name].type).equals(table[name])
    assert got["join"].to_pylist() == [0, 0, 0]
    assert got["counters"].to_pylist() == [None, None, "1.0,2.0"]  # once
    assert got["hottest"].to_pylist() == [None, None, "{}"]


def test_counters_without_results_are_no_result():
    made = results(Packet(0, b""), EVERY, Report("3.0"))
    assert made["join"].to_pylist() == [None]
    assert made["counters"].to_pylist() == ["3.0"]
    assert results(Packet(0, b""), EVERY, NOTHING)["counters"].to_pylist() == [None]


def test_nested_types_travel_in_packets():
    nested = T.StructField("x", T.ArrayType(T.LongType()))
    assert plain_rows(T.StructType([*EVERY.fields, nested])) is None
