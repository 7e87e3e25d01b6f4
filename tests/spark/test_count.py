"""Frequent keys of a frame, beside exact counts by groupBy."""

import datetime
import decimal
import math
import random
from collections import Counter

import pytest

from penstock import BadInput
from penstock.spark import count
from tests.marks import some
from tests.spark.streams import plain

pytestmark = pytest.mark.spark

SUPPORT, EPSILON = 0.05, 0.01


def texts(number):
    return f"käy {number}"


VALUES = {
    "string": texts,
    "long": lambda number: number - 3,
    "int": lambda number: number,
    "double": lambda number: [0.0, -0.0, math.nan, math.inf][number] if number < 4 else number / 7,
    "date": lambda number: datetime.date(2024, 1, 1) + datetime.timedelta(number),
    "timestamp": lambda number: datetime.datetime(2024, 1, 1) + datetime.timedelta(0, number),
    "decimal(10,2)": lambda number: decimal.Decimal(number),
    "binary": lambda number: bytearray(texts(number), "utf-8"),
    "boolean": lambda number: number % 3 == 0,
    "array<string>": lambda number: [texts(number), None],
    "struct<a:long,b:string>": lambda number: (number, texts(number) if number % 2 else None),
}


def skewed(length, seed):
    draw = random.Random(seed)
    return [min(int(draw.paretovariate(0.6)) - 1, 10**6) for _ in range(length)]


def assert_guaranteed(frame, keys, support, epsilon):
    """Compare with exact counts; return how many keys were found."""
    total, exact = 0, {}
    whole = frame.where(" and ".join(f"{key} is not null" for key in keys))
    for row in whole.groupBy(*keys).count().collect():
        exact[plain(tuple(row)[:-1])] = row[-1]
        total += row[-1]
    made = count(frame, keys if len(keys) > 1 else keys[0], support, epsilon)
    assert made.columns == [*keys, "count", "lowest", "highest"]
    assert [made.schema[k].dataType for k in keys] == [frame.schema[k].dataType for k in keys]
    found = {plain(tuple(row)[:-3]): tuple(row)[-3:] for row in made.collect()}
    for key, (estimate, lowest, highest) in found.items():
        assert estimate == lowest <= exact[key] <= highest <= lowest + epsilon * total
        assert exact[key] >= (support - epsilon) * total
    assert {key for key, n in exact.items() if n >= support * total} <= set(found)
    return len(found)


@pytest.mark.parametrize("kind", some(VALUES, ("string", "double", "struct<a:long,b:string>")))
def test_keys_of_any_type(spark, kind):
    rows = [(VALUES[kind](number),) for number in skewed(3000, seed=1)]
    rows += [(None,)] * 300
    frame = spark.createDataFrame(rows, f"`the.key` {kind}").repartition(5)
    renamed = frame.toDF("key")
    assert assert_guaranteed(renamed, ["key"], SUPPORT, EPSILON) >= 2
    if kind == "string":
        made = count(frame, "the.key", SUPPORT, EPSILON)
        assert made.columns[0] == "the.key"
        assert made.count() >= 2


def test_many_batches_and_several_columns(spark):
    # More batches than one per partition: keys are forgotten and come back in between.
    numbers = skewed(60_000, seed=2)
    rows = [(number, texts(number % 5)) for number in numbers]
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, "700")
    try:
        frame = spark.createDataFrame(rows, "user long, node string").repartition(3)
        assert_guaranteed(frame, ["user", "node"], 0.01, 0.002)
        assert_guaranteed(frame, ["user"], 0.01, 0.002)
    finally:
        spark.conf.set(name, before)
    assert Counter(numbers).most_common(1)[0][0] == 0


def test_counts_are_exact_where_nothing_is_forgotten(spark):
    frame = spark.range(1000).selectExpr("id % 4 as key")
    rows = count(frame, "key", support=0.2).collect()
    assert sorted(map(tuple, rows)) == [(key, 250, 250, 250) for key in range(4)]


def test_a_frame_of_nothing(spark):
    nothing = spark.createDataFrame([], "key string")
    assert count(nothing, "key", 0.1).collect() == []
    nulls = spark.createDataFrame([(None,)] * 3, "key string")
    assert count(nulls, "key", 0.1).collect() == []


def test_bad_input(spark):
    frame = spark.range(3)
    for arguments, words in (
        (("id", 0.01, 0.01), "support must be above epsilon, got support 0.01 and epsilon 0.01"),
        (("id", 0.1, 0), "epsilon must be above 0 and below 1, got 0"),
        (("id", 1.5), "support must be above 0 and at most 1, got 1.5"),
        (("ix", 0.1), "has no column 'ix'; it has id"),
        ((["id", "id"], 0.1), "key must name each column once"),
        ((None, 0.1), "key must name a column"),
        (("id", "lots"), "support must be above 0 and at most 1, got 'lots'"),
    ):
        with pytest.raises(BadInput, match=words):
            count(frame, *arguments)
    with pytest.raises(BadInput, match="has the name of a result; rename it"):
        count(frame.toDF("Count"), "Count", 0.1)
    with pytest.raises(BadInput, match="the given frame must be a Spark DataFrame, got str"):
        count("table", "id", 0.1)
    with pytest.raises(BadInput, match="map<string,bigint> has no equality"):
        count(frame.selectExpr("map('a', id) as key"), "key", 0.1)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(BadInput, match="count takes a batch frame, got a stream"):
        count(stream, "value", 0.1)
