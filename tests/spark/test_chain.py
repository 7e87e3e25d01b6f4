"""Stateful operators of Spark before and after the join: the results of Spark's own chain."""

import random

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from penstock.errors import BadInput, BadState
from penstock.spark import join, join_many, lookup, metrics
from tests.marks import some
from tests.spark.streams import WITHIN, Files, at, bag, results, run
from tests.spark.test_exact import own_join

pytestmark = pytest.mark.spark

WINDOW = {"time": "ts", "within": f"{WITHIN} seconds", "buckets": 2}
DELAY = "5 seconds"
# The join's own watermark is a millisecond behind: a row that is late by the whole delay stays.
SAME = "5001 milliseconds"


@pytest.fixture
def bare(spark, tmp_path):
    """Return two streams without a watermark, with late rows among the others."""
    rng = random.Random(1)
    sides = [Files(tmp_path / name, "k int, ts timestamp, v int") for name in "ab"]
    for number in range(6):
        for files in sides:
            times = [at(20 * number + rng.randrange(20)) for _ in range(40)]
            times += [at(20 * number - rng.randrange(40)) for _ in range(5)]
            files.add([(rng.randrange(5), time, rng.randrange(30)) for time in times])
    return [files.stream(spark) for files in sides]


@pytest.fixture
def frames(bare):
    return [frame.withWatermark("ts", DELAY) for frame in bare]


def deduplicated(frame):
    return frame.dropDuplicatesWithinWatermark(["k", "v"])


def summed(frame):
    windows = frame.groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v").alias("v"))
    return windows.select("k", F.window_time("window").alias("ts"), "v")


@pytest.mark.slow
@pytest.mark.parametrize("before", [deduplicated, summed])
def test_what_comes_before(spark, tmp_path, frames, before):
    left, right = before(frames[0]), frames[1]
    run(own_join(left, right, ["k"]), tmp_path, "own")
    run(join(left, right, "k", **WINDOW), tmp_path, "ours")
    expected = results(spark, tmp_path, "own")
    assert results(spark, tmp_path, "ours") == expected
    assert sum(expected.values()) > 300


def by_window(time):
    def summed(joined, _):
        windows = joined.groupBy(F.window(time, "10 seconds"), "k")
        return windows.agg(F.count("*").alias("n"), F.sum("v_left"), F.sum("v_right"))

    return summed


def distinct(joined, _):
    return joined.select("k", "ts_left").dropDuplicates(["k", "ts_left"])


def distinct_for_a_while(joined, _):
    some = joined.select("k", F.col("ts_right").alias("ts"))
    # Those with one time: else it depends on which comes first, and no join promises an order.
    return some.dropDuplicatesWithinWatermark(["k", "ts"])


def joined_again(joined, other):
    left = joined.withColumnRenamed("ts_left", "ts").drop("ts_right")
    return own_join(left, other, ["k"], within=3)


AFTER = {
    "by the left time": (by_window("ts_left"), 40),
    "by the right time": (by_window("ts_right"), 40),
    "distinct": (distinct, 200),
    "distinct for a while": (distinct_for_a_while, 200),
    "joined again": (joined_again, 500),
}


@pytest.mark.parametrize("name", some(AFTER, ["by the left time"]))
def test_what_comes_after(spark, tmp_path, bare, name):
    after, least = AFTER[name]
    own = [frame.withWatermark("ts", SAME) for frame in bare]
    third = bare[1].withWatermark("ts", SAME)
    run(after(own_join(*own, ["k"]), third), tmp_path, "own")
    run(after(join(*bare, "k", delay=DELAY, **WINDOW), third), tmp_path, "ours")
    expected = results(spark, tmp_path, "own")
    assert results(spark, tmp_path, "ours") == expected
    assert sum(expected.values()) > least


@pytest.mark.slow
def test_a_chain_goes_on_after_a_restart(spark, tmp_path):
    rng = random.Random(2)
    sides = [Files(tmp_path / name, "k int, ts timestamp, v int") for name in "ab"]
    for number in range(4):
        for files in sides:
            times = [at(20 * number + rng.randrange(20)) for _ in range(30)]
            files.add([(rng.randrange(5), time, rng.randrange(30)) for time in times])
        if number % 2:
            bare = [files.stream(spark) for files in sides]
            own = own_join(*[frame.withWatermark("ts", SAME) for frame in bare], ["k"])
            run(by_window("ts_left")(own, None), tmp_path, "own")
            ours = join(*bare, "k", delay=DELAY, **WINDOW)
            run(by_window("ts_left")(ours, None), tmp_path, "ours")
    expected = results(spark, tmp_path, "own")
    assert results(spark, tmp_path, "ours") == expected
    assert sum(expected.values()) > 10


@pytest.mark.slow  # a minute
def test_several_frames_and_then_an_aggregation(spark, tmp_path, bare):
    three = [*bare, bare[0]]
    out = join_many(three, "k", delay=DELAY, **WINDOW)
    everything = out.groupBy(F.window("ts_3", "10 seconds")).agg(F.count("*").alias("n"))
    run(everything, tmp_path, "ours")
    run(out, tmp_path, "rows")
    rows = spark.read.parquet(str(tmp_path / "rows"))
    expected = rows.groupBy(F.window("ts_3", "10 seconds")).agg(F.count("*").alias("n"))
    found, whole = results(spark, tmp_path, "ours"), bag(expected)
    assert found <= whole  # the last windows are still open
    assert sum(found.values()) > 5


def test_an_aggregation_cannot_be_right_where_frames_have_watermarks(frames):
    """Spark says so: no time of the results has a watermark, for results may be older than it."""
    out = by_window("ts_left")(join(*frames, "k", **WINDOW), None)
    with pytest.raises(AnalysisException, match="watermark"):
        out.writeStream.format("noop").outputMode("append").start()


def test_a_join_after_a_join(spark, tmp_path, bare):
    """The third stream lags behind the others, as the whole query then does in Spark."""
    slow = bare[1].withColumn("ts", F.expr("ts - interval 7 seconds"))

    def chain(first, third, joined, **options):
        left = first.withColumnRenamed("ts_left", "ts").drop("ts_right")
        return joined(left, third, **options)

    def own(*frames, **options):
        return own_join(*frames, ["k"], within=3)

    marked = [frame.withWatermark("ts", SAME) for frame in (*bare, slow)]
    run(chain(own_join(*marked[:2], ["k"]), marked[2], own), tmp_path, "own")
    options = {"on": "k", "time": "ts", "delay": DELAY, "buckets": 2}
    first = join(*bare, within=f"{WITHIN} seconds", **options)
    checkpoint = tmp_path / "ours-checkpoint"
    again = chain(first, slow, join, within="3 seconds", **options)
    query = run(again, tmp_path, "ours")
    expected = results(spark, tmp_path, "own")
    assert results(spark, tmp_path, "ours") == expected
    assert sum(expected.values()) > 300
    second = metrics(query, join=2)
    assert metrics(query).matches == second.arrived[0]
    assert second.matches == sum(expected.values())
    # Either join may be compared with the checkpoint of both.
    chain(first, slow, join, within="3 seconds", checkpoint=checkpoint, **options)
    with pytest.raises(BadState, match="within"):
        chain(first, slow, join, within="4 seconds", checkpoint=checkpoint, **options)


@pytest.mark.slow
def test_a_lookup_after_a_join(spark, tmp_path, bare):
    def fetch(keys):
        names = pa.array([f"key {key}" for key in keys.to_pylist()], pa.string())
        return pa.table({"k": keys, "name": names})

    joined = join(*bare, "k", delay=DELAY, **WINDOW)
    run(lookup(joined, fetch, "k", budget=3), tmp_path, "enriched")
    run(joined, tmp_path, "plain")
    found = spark.read.parquet(str(tmp_path / "enriched"))
    assert found.where("name != 'key ' || k OR name IS NULL").count() == 0
    assert bag(found.drop("name")) == results(spark, tmp_path, "plain")


def test_a_join_after_a_join_needs_a_watermark(frames):
    first = join(*frames, "k", **WINDOW).withColumnRenamed("ts_left", "ts")
    with pytest.raises(BadInput, match="delay="):
        join(first, frames[1], "k", **WINDOW)


def test_two_joins_do_not_meet_in_a_third(bare):
    first, second = (
        join(*bare, "k", delay=DELAY, **WINDOW).withColumnRenamed("ts_left", "ts") for _ in "ab"
    )
    with pytest.raises(BadInput, match="one after the other"):
        join(first, second, "k", **WINDOW)
    with pytest.raises(AnalysisException, match="DUPLICATED_METRICS_NAME"):
        first.unionByName(second)
