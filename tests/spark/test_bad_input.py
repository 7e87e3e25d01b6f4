"""Every mistake is told before the query starts, by name, with the way out."""

import pytest
from pyspark.sql import functions as F

from penstock import PenstockError
from penstock.spark import join, join_group, join_many, metrics
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
    "outer": ({"how": "left_outer"}, "how must be 'inner', got 'left_outer'; for rows without"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(streams, case):
    changed, said = ARGUMENTS[case]
    with pytest.raises(PenstockError) as told:
        join(*streams, **(GOOD | changed))
    assert said in str(told.value)


FRAMES = {
    "key types differ": (lambda f: f.withColumn("k", F.col("k").cast("long")), "cast one of them"),
    "time types differ": (
        lambda f: f.withColumn("ts", F.col("ts").cast("timestamp_ntz")),
        "time columns must be of one type",
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
    "joined": (
        lambda f: join(f, f, **GOOD).select("k", F.col("ts_left").alias("ts")),
        "join_many",
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
    with pytest.raises(PenstockError, match="time says nothing of join 'x'"):
        join_group({"x": (a, b, "k")}, **(rest | {"time": {"y": "ts"}}))


def test_how_spark_writes_it(spark):
    batch = spark.createDataFrame([(1, at(0))], "k int, ts timestamp")
    assert join(batch, batch, **GOOD, how="inner").columns == ["k", "ts_left", "ts_right"]
    with pytest.raises(PenstockError, match="Spark's own join"):
        join(batch, batch, **GOOD, how="left")


def test_figures_of_what_is_no_query(spark, streams):
    batch = spark.createDataFrame([(1, at(0))], "k int, ts timestamp")
    joined = join(*streams, **GOOD)
    for what in (join(batch, batch, **GOOD), joined, joined.writeStream, None):
        with pytest.raises(PenstockError) as told:
            metrics(what)
        assert f"reads a streaming query, got a {type(what).__name__}; pass" in str(told.value)


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
