"""Results leave the operator as columns of Arrow's own, and PySpark passes them on as they are."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from penstock.spark.frames import arrow_schema
from penstock.spark.runtime.arrow import equal, fitted, from_parquet, to_ipc, to_parquet
from penstock.spark.runtime.bucket import About, Packet
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


@pytest.mark.parametrize("rows", [EVERY, None])
def test_packets_of_an_archive_travel_beside_results(rows):
    """With a row of counters after one of them, and with results that are none of them."""
    blob, told = to_parquet(every_type()), Report("3.0")
    made = results(Packet(1, blob, About(3, 5, 7)), rows, told, archived=True)
    names = [field.name for field in output_schema(rows, archived=True).fields]
    assert made.column_names == names
    (row,) = made.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "join": 1, "packet": blob, "rows": 3, "oldest": 5, "newest": 7, "counters": "3.0"
    }  # fmt: skip
    plain = results(Packet(0, to_ipc(every_type())), rows, told, archived=True)
    assert plain.column_names == names
    assert plain["join"].to_pylist() == [0] * (1 if rows is None else 3)
    assert plain["rows"].null_count == len(plain)
    assert (plain["packet"].null_count == 0) == (rows is None)


NESTED = [
    pa.list_(pa.string()),
    pa.map_(pa.string(), pa.list_(pa.struct({"b.c": pa.date32(), "x": pa.decimal128(38, 18)}))),
    pa.struct({"a": pa.large_string(), "b": pa.struct({"c": pa.list_(pa.timestamp("us", "UTC"))})}),
    pa.duration("us"),
]
NESTED_VALUES = [
    [["x", None, ""], [], None],
    [[("k", [{"b.c": datetime.date(1, 1, 1), "x": Decimal("-1.5")}, None])], [], None],
    [{"a": "ä", "b": {"c": [None]}}, {"a": None, "b": None}, None],
    [datetime.timedelta(microseconds=-5), datetime.timedelta(9), None],
]


def test_every_type_is_archived_as_it_was():
    nested = {
        f"n.{place}": pa.array(values, kind)
        for place, (kind, values) in enumerate(zip(NESTED, NESTED_VALUES, strict=True))
    }
    every = every_type()
    for name, column in nested.items():
        every = every.append_column(name, column)
    for rows in (every, every.slice(2), every.slice(0, 0)):
        got = fitted(from_parquet(pa.py_buffer(to_parquet(rows))), rows.schema)
        for name, kind in zip(rows.column_names, rows.schema.types, strict=True):
            if pa.types.is_map(kind):
                assert got[name].to_pylist() == rows[name].to_pylist()
            else:
                assert equal(got[name], rows[name]).all()


def test_nested_types_travel_in_packets():
    nested = T.StructField("x", T.ArrayType(T.LongType()))
    assert plain_rows(T.StructType([*EVERY.fields, nested])) is None
