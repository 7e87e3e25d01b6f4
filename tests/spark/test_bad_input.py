"""Every mistake is told before the query starts, by name, with the way out."""

import re
from dataclasses import fields

import numpy as np
import pytest
from pyspark.sql import functions as F

from penstock import PenstockError
from penstock.errors import BadInput
from penstock.spark import Metrics, join, join_group, join_many, metrics
from tests.spark.streams import Files, at

pytestmark = pytest.mark.spark

GOOD = {"on": "k", "time": "ts", "within": "10 seconds", "delay": "1 second"}


@pytest.fixture(scope="module")
def streams(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    files = [Files(folder / side, f"k int, ts timestamp, {side} string") for side in "ab"]
    for one in files:
        one.add([(1, at(0), "x")])
    return [one.stream(spark) for one in files]


ARGUMENTS = {
    "missing key": ({"on": "kk"}, "no column 'kk'; did you mean 'k'"),
    "one missing of several": ({"on": ["k", "z"]}, "no column 'z'"),
    "no key": ({"on": []}, "on must name"),
    "no name": ({"on": 7}, "on must name"),
    "key twice": ({"on": ["k", "k"]}, "each column once"),
    "missing time": ({"time": "t"}, "left frame has no column 't'"),
    "time that left lacks": (
        {"time": "b", "on": "k"},
        "left frame has no column 'b'; it has k, ts, a; if it is called otherwise there, pass "
        "time=('...', 'b')",
    ),
    "key that right lacks": ({"on": "a"}, "pass on={'a': '...'}"),
    "missing right time": ({"time": ("ts", "when")}, "right frame has no column 'when'"),
    "too many times": ({"time": ("ts", "ts", "ts")}, "one per frame"),
    "time is no timestamp": (
        {"time": "k", "on": "ts"},
        "'k' of the left frame must be a timestamp",
    ),
    "within unparsable": ({"within": "ten seconds"}, "within must be a span of time"),
    "within without unit": ({"within": "10"}, "within must be a span of time"),
    "within as number": ({"within": 10}, "within must be a span of time"),
    "within negative": ({"within": "-1 seconds"}, "within must not be negative"),
    "within empty": ({"within": ""}, "within must be a span of time"),
    "delay unparsable": ({"delay": "soon"}, "delay must be a span of time"),
    "delay negative": ({"delay": "-5 minutes"}, "delay must not be negative"),
    "no delay": ({"delay": None}, "pass delay="),
    "budget below buckets": ({"budget": 3, "buckets": 4}, "at least 1 per bucket"),
    "budget zero": ({"budget": 0}, "budget must be at least"),
    "budget text": ({"budget": "lots"}, "budget must be rows"),
    "budget of rows as text": ({"budget": "1000"}, "pass rows without quotes"),
    "budget float": ({"budget": 1.5}, "budget must be rows"),
    "budget below split": ({"budget": 3, "buckets": 2, "layout": "split"}, "1 per memory"),
    "policy unknown": ({"policy": "clokc", "budget": 10}, "clock"),
    "policy unknown, exact": ({"policy": "clokc"}, "clock"),
    "policy parameter": ({"policy": "gdj:percentil=0.9", "budget": 10}, "percentil"),
    "policy without window": ({"policy": "life", "within": None, "budget": 10}, "within="),
    "layout": ({"layout": "diagonal"}, "layout must be"),
    "buckets": ({"buckets": 0}, "buckets must be"),
    "buckets as text": ({"buckets": "two"}, "buckets must be"),
    "seed": ({"seed": "x"}, "seed must be"),
    "sample": ({"recall_sample": 1.5}, "recall_sample must be"),
    "suffixes equal": ({"suffixes": ("_x", "_x")}, "suffixes must be"),
    "suffixes too few": ({"suffixes": ("_x",)}, "suffixes must be"),
    "within too long": ({"within": "99999999999 days"}, "within must be at most 3652425 days"),
    "within with a negative part": ({"within": "1 second -1 second"}, "must not be negative"),
    "delay too long": ({"delay": "99999999999 days"}, "delay must be at most 3652425 days"),
    "budget too large": ({"budget": 10**30}, "budget must be at most 2**53 rows"),
    "bytes too many": ({"budget": "99999999999999999 TB"}, "budget must be at most 2**53 rows"),
    "bytes of many digits": ({"budget": "9" * 400 + " MB"}, "budget must be at most 2**53"),
    "budget as truth": ({"budget": True}, "budget must be rows"),
    "policy none": ({"policy": None}, "policy must be the name of a policy, such as 'lru'"),
    "policy as number": ({"policy": 5, "budget": 10}, "policy must be the name of a policy"),
    "policy by case": ({"policy": "LRU"}, "unknown policy 'LRU'; did you mean 'lru'?"),
    "suffixes none": ({"suffixes": None}, "suffixes must be 2 different texts, such as ('_left',"),
    "suffixes as text": ({"suffixes": "ab"}, "suffixes must be 2 different texts"),
    "suffixes without order": ({"suffixes": {"_a", "_b"}}, "suffixes must be 2 different texts"),
    "suffixes of numbers": ({"suffixes": (1, 2)}, "suffixes must be 2 different texts"),
    "keys without order": ({"on": {"k"}}, "on must name a column"),
    "key by case": ({"on": "K"}, "no column 'K'; did you mean 'k'"),
    "time none": ({"time": None}, "time must name a column"),
    "layout none": ({"layout": None}, "layout must be"),
    "buckets too many": ({"buckets": 10**9}, "buckets must be at most 100000, got 1000000000"),
    "buckets as truth": ({"buckets": True}, "buckets must be a whole number"),
    "seed too large": ({"seed": 2**70}, "seed must be at most"),
    "sample as truth": ({"recall_sample": True}, "recall_sample must be a number from 0 to 1"),
    "sample is no number": ({"recall_sample": float("nan")}, "recall_sample must be a number"),
    "checkpoint": ({"checkpoint": 5}, "checkpoint must be the path that option('checkpointLoc"),
    "how": ({"how": "cross"}, "how must be one of inner, left, right, full, semi, anti (or"),
    "match": ({"match": "last"}, "match must be one of all, first, one, got 'last'"),
    "an empty window": ({"within": ("2 s", "1 s")}, "is empty: the time of the right row"),
    "a window of three": ({"within": ("1 s",) * 3}, "within must be a span of time, or two"),
    "no window": ({"within": None, "how": "left"}, "how='left' of streams needs within="),
    "keys": ({"on": ("k", "u")}, "the left frame has no column 'u'"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(streams, case):
    changed, said = ARGUMENTS[case]
    with pytest.raises(PenstockError) as told:
        join(*streams, **(GOOD | changed))
    assert said in str(told.value)


@pytest.mark.parametrize("options", [{}, {"policy": "lru", "archive": "inputs"}, {"buckets": 7}])
def test_a_refused_budget_names_the_smallest_that_works(streams, options, tmp_path):
    if options.get("archive"):
        options = options | {"archive": str(tmp_path), "buckets": 3}
    with pytest.raises(BadInput, match="here, got '1 kB'") as told:
        join(*streams, **(GOOD | options | {"budget": "1 kB"}))
    least, bytes_each = re.search(r"least '(.+?)'.* takes ([\d,]+) bytes", str(told.value)).groups()
    join(*streams, **(GOOD | options | {"budget": least}))
    buckets = int(re.search(r"each of (\d+) buckets", str(told.value)).group(1))
    one_less = buckets * int(bytes_each.replace(",", "")) - 1
    with pytest.raises(BadInput, match=re.escape(least)):
        join(*streams, **(GOOD | options | {"budget": f"{one_less} B"}))


FRAMES = {
    "key types differ": (lambda f: f.withColumn("k", F.col("k").cast("long")), "cast one of them"),
    "time types differ": (
        lambda f: f.withColumn("ts", F.col("ts").cast("timestamp_ntz")),
        "column 'ts' of the left frame and column 'ts' of the right frame must have one type, got "
        "timestamp and timestamp_ntz",
    ),
    "ambiguous": (lambda f: f.select("*", F.lit(1).alias("k")), "'k' is there 2 times"),
    "ambiguous by case": (lambda f: f.select("*", F.lit(1).alias("K")), "is there 2 times"),
    "result column twice": (lambda f: f.select("*", F.lit(1).alias("ts_left")), "twice"),
    "static": (lambda f: f.sparkSession.createDataFrame([], f.schema), "readStream"),
    "aggregated": (
        lambda f: (
            f.withWatermark("ts", "1 second")
            .groupBy("k", F.window("ts", "1 second").alias("w"))
            .count()
            .select("k", F.col("w.start").alias("ts"))
        ),
        "right frame comes from an aggregation",
    ),
    "watermark on another column": (
        lambda f: f.withColumn("seen", F.col("ts")).withWatermark("seen", "1 second"),
        "right frame comes from a withWatermark on another column",
    ),
    "time made of one with a watermark": (
        lambda f: f.withWatermark("ts", "1 second").withColumn("ts", F.date_trunc("hour", "ts")),
        "its time column 'ts' has no watermark; pass delay= and leave that out, or call it",
    ),
    "joined": (
        lambda f: join(f.withWatermark("ts", "1 second"), f, **GOOD).select(
            "k", F.col("ts_left").alias("ts")
        ),
        "join_many",
    ),
    "result columns by case": (
        lambda f: f.select("k", "ts", F.lit(1).alias("TS_LEFT"), F.lit(1).alias("A")),
        "the column 'ts_left' twice",
    ),
    "year-month interval": (
        lambda f: f.withColumn("months", F.expr("interval 1 year")),
        "column 'months' of the right frame has the type interval year, which Spark cannot hand",
    ),
    "year-month interval inside": (
        lambda f: f.withColumn("months", F.struct(F.expr("interval 1 year").alias("i"))),
        "column 'months' of the right frame has the type struct<i:interval year>",
    ),
    "fields of one name": (
        lambda f: f.withColumn("s", F.expr("array(map('x', named_struct('a', 1, 'a', 2)))")),
        "column 's' of the right frame has two fields called 'a' in one struct",
    ),
    "no frame": (lambda f: "table", "must be a Spark DataFrame, got str"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames(streams, case):
    change, said = FRAMES[case]
    with pytest.raises(PenstockError) as told:
        join(streams[0], change(streams[1]), **GOOD)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("map<int,int>", "no equality"),
        ("struct<a:map<int,int>>", "no equality"),
        ("string collate UTF8_LCASE", "different bytes"),
    ],
)
def test_keys_without_equality(spark, kind, said):
    frame = spark.createDataFrame([], f"k {kind}, ts timestamp")
    with pytest.raises(PenstockError) as told:
        join(frame, frame, **GOOD)
    assert said in str(told.value)
    assert "'k'" in str(told.value)


def test_what_spark_allows_before_is_allowed(streams):
    marked = streams[0].withWatermark("ts", "1 second")
    join(marked.dropDuplicates(["k", "ts"]), streams[1], **GOOD)
    join(marked.join(streams[1].select("k", "b").limit(0), "k"), streams[1], **GOOD)


def test_many_and_groups(streams):
    with pytest.raises(PenstockError, match="at least 2 frames"):
        join_many(streams[:1], **GOOD)
    with pytest.raises(PenstockError, match="suffixes"):
        join_many(streams, suffixes=("_1",), **GOOD)
    for unknown in ({"how": "left"}, {"archive": "here"}, {"budgett": 5}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            join_many(streams, **GOOD, **unknown)
    rest = {name: GOOD[name] for name in ("time", "within", "delay")}
    a, b = streams
    for joins, said in [
        ({}, "joins must map"),
        ({"x": (a, b)}, "must be .left, right, on"),
        ({"join": (a, b, "k")}, "other than 'join'"),
        ({"x": (a, b, "q")}, "x left frame has no column 'q'"),
    ]:
        with pytest.raises(PenstockError, match=said):
            join_group(joins, **rest)
    for joins, said in [
        ({"JOIN": (a, b, "k")}, "other than 'join'"),
        ({"": (a, b, "k")}, "other than 'join'"),
        ({"x": (a, b, "k"), "X": (a, b, "k")}, "differ by more than case, got 'x' twice"),
        ({"x": (a, b, F.lit("k"))}, "on must name a column"),
    ]:
        with pytest.raises(PenstockError, match=said):
            join_group(joins, **rest)
    with pytest.raises(PenstockError, match="time must name a column"):
        join_group({"x": (a, b, "k")}, **(rest | {"time": None}))
    for frames, kind in ((a, "DataFrame"), (None, "NoneType")):
        with pytest.raises(PenstockError, match=f"join_many takes a list of frames, got {kind}"):
            join_many(frames, **GOOD)
    with pytest.raises(PenstockError, match="time says nothing of join 'x'"):
        join_group({"x": (a, b, "k")}, **(rest | {"time": {"y": "ts"}}))


def test_columns_in_the_place_of_names(streams):
    for changed, said in [
        ({"on": F.col("k")}, r"on must name a column \('k'\) or several"),
        ({"on": [F.col("k")]}, "on must name .*pass names, not columns"),
        ({"time": F.col("ts")}, "time must name a column"),
        ({"how": F.lit("inner")}, "how must be one of"),
        ({"layout": F.lit("split")}, "layout must be"),
        ({"policy": F.lit("lru")}, "policy must be the name of a policy"),
    ]:
        with pytest.raises(PenstockError, match=said):
            join(*streams, **(GOOD | changed))


def test_names_that_differ_by_case_only_get_suffixes(spark, streams):
    renamed = streams[1].withColumnRenamed("b", "A")
    assert join(streams[0], renamed, **GOOD).columns == [
        "k", "ts_left", "a_left", "ts_right", "A_right"
    ]  # fmt: skip
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert join(streams[0], renamed, **GOOD).columns[2::2] == ["a", "A"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_what_grows_without_end_is_reported(spark, streams, recwarn):
    with pytest.warns(UserWarning, match="the join holds every row for ever.*pass within=") as told:
        join(*streams, **(GOOD | {"within": None}))
    assert told[0].filename == __file__
    recwarn.clear()
    join(*streams, **(GOOD | {"within": None, "budget": 10}))
    join(*streams, **GOOD)
    batch = spark.createDataFrame([(1, at(0))], "k int, ts timestamp")
    join(batch, batch, **(GOOD | {"within": None}))
    assert not recwarn.list


def test_a_watermark_on_one_side_only(streams, recwarn):
    left, right = streams[0].withWatermark("ts", "5 minutes"), streams[1]
    with pytest.warns(UserWarning, match="only the left frame has a watermark") as told:
        join(left, right, **(GOOD | {"delay": None}))
    assert str(told[0].message) == (
        "only the left frame has a watermark: its delay of 5 minutes holds for the right frame "
        "too, and rows of that which come later are dropped; call withWatermark on every frame, or "
        "pass delay='5 minutes'"
    )
    recwarn.clear()
    join(left, right, **GOOD)
    join(left, right.withWatermark("ts", "1 minute"), **(GOOD | {"delay": None}))
    assert not recwarn.list


def test_numbers_of_numpy_are_numbers(streams):
    options = {"budget": np.int64(50), "seed": np.int32(3), "buckets": np.int8(2)}
    join(*streams, **GOOD, **options, recall_sample=np.float32(0.5))


def test_how_spark_writes_it(spark):
    batch = spark.createDataFrame([(1, at(0))], "k int, ts timestamp")
    assert join(batch, batch, **GOOD, how="inner").columns == ["k", "ts_left", "ts_right"]
    for how in ("left", "LEFT_OUTER", "leftouter"):
        assert join(batch, batch, **GOOD, how=how).columns == ["k", "ts_left", "ts_right"]
    assert join(batch, batch, **GOOD, how="left_semi").columns == ["k", "ts"]


def test_figures_of_what_is_no_query(spark, streams):
    batch = spark.createDataFrame([(1, at(0))], "k int, ts timestamp")
    joined = join(*streams, **GOOD)
    for what in (join(batch, batch, **GOOD), joined, joined.writeStream, None):
        with pytest.raises(PenstockError) as told:
            metrics(what)
        assert f"reads a streaming query, got {type(what).__name__}; pass" in str(told.value)


def test_figures_of_another_query(spark, streams, tmp_path):
    query = (
        streams[0]
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    with pytest.raises(PenstockError, match="reports no figures"):
        metrics(query)


class Query:
    """As much of a query as `metrics` looks at."""

    name, id = None, "7f"

    def __init__(self, *reports):
        self.recentProgress = reports


IDLE = {"batchId": 4, "durationMs": {"triggerExecution": 1}, "observedMetrics": {}}
RAN = {"batchId": 3, "durationMs": {"addBatch": 9}}


def test_the_last_figures_there_are():
    made = dict.fromkeys(field.name for field in fields(Metrics)) | {"matches": 5, "bytes_held": 9}
    made |= {"hottest": [], "in_force": {"buckets": {}, "scores": {}, "switches": 0}}
    figures = RAN | {"observedMetrics": {"penstock": made}}
    assert metrics(Query(figures, IDLE, IDLE)).matches == 5
    empty = RAN | {"observedMetrics": {"penstock": {"bytes_held": None}}}
    assert metrics(Query(figures, empty, IDLE)).batch == 3
    assert metrics(Query(empty, IDLE)) is None
    assert metrics(Query(IDLE, IDLE)) is None
    assert metrics(Query()) is None
    with pytest.raises(PenstockError, match="query 7f reports no figures called penstock or"):
        metrics(Query(RAN | {"observedMetrics": {"other": {}}}, IDLE))


def test_figures_of_a_query_that_waits(spark, streams, tmp_path):
    (tmp_path / "empty").mkdir()
    empty = spark.readStream.schema(streams[0].schema).parquet(str(tmp_path / "empty"))
    frames = {"ours": join(empty, empty, **GOOD), "another": empty}
    for name, frame in frames.items():
        query = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(processingTime="0 seconds")
            .start()
        )
        try:
            while not query.recentProgress:  # Spark reports that it waits
                query.awaitTermination(0.2)
            assert metrics(query) is None
        finally:
            query.stop()
