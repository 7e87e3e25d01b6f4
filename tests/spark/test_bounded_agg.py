"""Bounded aggregates on Spark: the answers and choices of `penstock.precision.queries`."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from pyspark.errors import PythonException

from penstock import PenstockError
from penstock.precision.queries import Query, bounds, refreshes
from penstock.spark.precision import bounded_agg
from tests.marks import some

pytestmark = pytest.mark.spark

QUERIES = [
    Query("sum", 20.0),
    Query("avg", 0.5),
    Query("max", 1.0),
    Query("min", 0.0),
    Query("count", 3.0, at=5.0),
    Query("quantile", 0.5, at=0.5),
    Query("sum", 0.02, relative=True),
    Query("sum", 1e9),
]


@pytest.fixture(scope="module")
def intervals():
    rng = random.Random(1)
    made = []
    for number in range(60):
        middle, half = rng.uniform(0, 20), rng.choice([0.0, rng.uniform(0, 2)])
        made.append((f"s{number}", "north" if number % 3 else None, middle - half, middle + half))
    return made


LIMITS = ("low", "high")
SCHEMA = "`sensor.id` string, region string, low double, high double"


@pytest.mark.parametrize(
    "query", some(QUERIES, QUERIES[:3]), ids=[f"{q.kind}-{q.delta}" for q in QUERIES]
)
def test_answers_as_the_queries_do(spark, intervals, query):
    frame = spark.createDataFrame(intervals, SCHEMA)
    options = {"relative": query.relative, "at": query.at, "key": "sensor.id", "by": "region"}
    found = bounded_agg(frame, query.kind, query.delta, **options)
    assert found.columns == ["region", "low", "high", "within", "refresh"]
    rows = {row.region: row for row in found.collect()}
    assert set(rows) == {"north", None}
    for region, row in rows.items():
        mine = [each for each in intervals if each[1] == region]
        order = {each[0]: place for place, each in enumerate(mine)}
        low, high = (np.array([each[end] for each in mine]) for end in (2, 3))
        assert (row.low, row.high) == pytest.approx(bounds(query, low, high))
        assert row.within == (row.high - row.low <= query.allowed(row.low, row.high))
        assert len(row.refresh) == len(refreshes(query, low, high))
        assert row.within == (not row.refresh)
        if not query.relative:  # after the refresh it is narrow enough, whatever the values are
            for share in (0.0, 0.4, 1.0):
                low_after, high_after = low.copy(), high.copy()
                for key in row.refresh:
                    i = order[key]
                    low_after[i] = high_after[i] = low[i] + share * (high[i] - low[i])
                least, most = bounds(query, low_after, high_after)
                assert most - least <= query.delta + 1e-9


def test_costs_are_minded_and_the_unknown_is_fetched(spark):
    rows = [(1, -math.inf, math.inf, 9.0), (2, 0.0, 4.0, 5.0), (3, 0.0, 3.0, 1.0)]
    frame = spark.createDataFrame(rows, "key int, low double, high double, price double")
    (row,) = bounded_agg(frame, "sum", 4.0, cost="price").collect()
    assert (row.low, row.high, row.within) == (-math.inf, math.inf, False)
    assert sorted(row.refresh) == [1, 3]
    (row,) = bounded_agg(frame, "sum", 4.0).collect()
    assert sorted(row.refresh) == [1, 2]


def test_bounds_that_no_double_equals_are_rounded_outward(spark):
    texts = [("a", "0.1", "0.2"), ("b", "20.5", "20.5"), ("c", "30", "1e17")]
    frame = spark.createDataFrame(texts, "key string, low string, high string")
    for kind in ("decimal(38,18)", "decimal(20,1)"):
        cast = frame.selectExpr("key", *(f"CAST({end} AS {kind}) AS {end}" for end in LIMITS))
        (row,) = bounded_agg(cast, "sum", 1.0).collect()
        lows, highs = (sum(Fraction(row[side]) for row in texts) for side in (1, 2))
        assert row.low < lows < highs < row.high
        assert row.high - row.low == pytest.approx(float(highs - lows))
    large = spark.range(1).selectExpr("id AS key", f"{2**53 + 1} AS low", f"{2**53 + 1} AS high")
    for kind in ("sum", "max"):
        (row,) = bounded_agg(large, kind, 2.0).collect()
        assert row.low < 2**53 + 1 < row.high


def test_sums_beyond_all_doubles_have_an_infinite_bound(spark):
    frame = spark.range(3).selectExpr("id AS key", "1e308 AS low", "1e308 AS high")
    (row,) = bounded_agg(frame, "sum", 1.0).collect()
    assert (row.low, row.high, row.refresh) == (math.nextafter(math.inf, 0), math.inf, [])
    (row,) = bounded_agg(frame, "avg", 1.0).collect()
    assert (row.low, row.high, row.within) == (1e308, 1e308, True)


def test_groups_and_keys_may_be_structs_of_times_in_any_zone(spark):
    """Python knows fewer zones than Spark, and fewer dates."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "GMT+01:00")
    try:
        day, at = "DATE'20000-01-01'", "timestamp_seconds(3600 * id)"
        frame = spark.range(4).selectExpr(
            f"struct({at} AS at, id) AS key", f"struct({day} AS day, {at} AS at) AS region",
            "0.0 AS low", "1.0 AS high",
        )  # fmt: skip
        found = bounded_agg(frame, "sum", 2.0, by="region")
        assert found.selectExpr("region.at", "low", "high").distinct().count() == 4
        wrong = frame.selectExpr("key", "high AS low", "low AS high")
        with pytest.raises(PythonException, match=r"low <= high.*1970, 1, 1"):
            bounded_agg(wrong, "sum", 2.0).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_no_rows_no_answer(spark):
    frame = spark.createDataFrame([], "key int, low double, high double")
    assert bounded_agg(frame, "sum", 1.0).collect() == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(1, 2.0, 1.0)], "low <= high.*key 1 has low 2.0, high 1.0"),
        ([(1, 0.0, 1.0), (1, 0.0, 2.0)], "one interval per key, got 2 rows of 1 keys"),
        pytest.param([(1, math.nan, 1.0)], "low <= high", marks=pytest.mark.slow),
        pytest.param([(1, None, 1.0)], "low <= high", marks=pytest.mark.slow),
        pytest.param(
            [(1, 0.0, 1.0), (None, 0.0, 2.0)],
            "key column 'key' must have a value.*null in 1 of 2;",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            [(1, math.inf, math.inf)],
            "not both of them infinite alike.*key 1 has low inf",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_is_no_interval_fails(spark, rows, said):
    frame = spark.createDataFrame(rows, "key int, low double, high double")
    with pytest.raises(PythonException, match=said):
        bounded_agg(frame, "sum", 1.0).collect()


BAD = {
    "kind": (("median", 1.0), {}, "a query must be one of"),
    "within": (("sum", -1.0), {}, "delta must be a number of at least 0"),
    "limit": (("count", 1.0), {}, "the limit of a count"),
    "quantile": (("quantile", 1.0), {"at": 2.0}, "above 0 and at most 1"),
    "key": (("sum", 1.0), {"key": "kex"}, "no column 'kex'; did you mean 'key'"),
    "by": (("sum", 1.0), {"by": "group"}, "no column 'group'"),
    "by a result": (("sum", 1.0), {"by": "low"}, "has the name of a result"),
    "text": (("sum", 1.0), {"low": "s"}, "column 's' .*must hold numbers, got string"),
}


@pytest.mark.parametrize(("given", "options", "said"), BAD.values(), ids=BAD)
def test_mistakes(spark, given, options, said):
    frame = spark.range(1).selectExpr("id AS key", "1.0 AS low", "2.0 AS high", "'x' AS s")
    with pytest.raises(PenstockError, match=said):
        bounded_agg(frame, *given, **options)


def test_streams_are_refused(spark):
    stream = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("value AS key", "1.0 AS low", "2.0 AS high")
    )
    with pytest.raises(PenstockError, match="takes a batch frame, got a stream"):
        bounded_agg(stream, "sum", 1.0)
