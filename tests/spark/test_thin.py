"""Thinning on Spark: the refreshes of one source for each key, whatever the cuts and restarts."""

import math
import random
import warnings
from collections import Counter
from datetime import UTC, timedelta
from fractions import Fraction

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from penstock import PenstockError
from penstock.precision import Costs, Source
from penstock.precision.thinning import KINDS
from penstock.spark import metrics
from penstock.spark.precision import latest
from penstock.spark.thin import thin
from tests.marks import some
from tests.naive.rng import MASK, mix
from tests.spark.processes import figures, kill, run_and_kill, start_driver
from tests.spark.streams import START, Files, at, run
from tests.spark.thin_driver import QUERIES, READINGS

pytestmark = pytest.mark.spark

DRIVER = "tests.spark.thin_driver"
KEYS = ["roof", "hall", "cellar", "yard", "shed"]
OPTIONS = {
    "rule": "settling",
    "costs": [4.0, 2.0],
    "limits": [0.0],
    "max_silence": "20 seconds",
    "seed": 5,
}


def walk(rng: random.Random, count: int) -> tuple[list[tuple], list[tuple]]:
    """Draw readings and queries in the order of time; no two rows of a key are of one time."""
    values = dict.fromkeys(KEYS, 0.0)
    readings, queries = [], []
    for second in range(count):
        key = rng.choice(KEYS)
        values[key] += rng.choice([-1, 1]) * rng.uniform(0.5, 1.5)
        readings.append((key, at(second), values[key]))
        if second % 3 == 0:
            queries.append((rng.choice(KEYS), at(second + 0.5), rng.uniform(0, 8)))
    return readings, queries


def write(folder, readings, queries, parts: int) -> list[Files]:
    """Write both streams, cut at the same moments."""
    files = [Files(folder / "readings", READINGS), Files(folder / "queries", QUERIES)]
    add(files, readings, queries, parts)
    return files


def add(files: list[Files], readings, queries, parts: int) -> None:
    size = -(-len(readings) // parts)
    for first in range(0, len(readings), size):
        mine = readings[first : first + size]
        begin, end = mine[0][1], mine[-1][1] + timedelta(seconds=1)
        rng = random.Random(first)
        files[0].add(rng.sample(mine, len(mine)))  # in any order
        files[1].add([query for query in queries if begin <= query[1] < end])


def seconds(moment) -> float:
    return (moment - START).total_seconds()


def seeds(spark) -> dict[str, int]:
    """Return where the randomness of each key comes from: its hash, and the seed."""
    frame = spark.createDataFrame([(key,) for key in KEYS], "k string")
    rows = frame.select("k", F.xxhash64("k").alias("hash")).collect()
    return {row.k: mix((row.hash & MASK) ^ OPTIONS["seed"]) for row in rows}


def expected(spark, readings, queries) -> Counter:
    """Return what one source for each key sends to one cache."""
    chance, sources, last, found = seeds(spark), {}, {}, []
    for key, when, number, *ask in sorted(
        [*readings, *((*query, "ask") for query in queries)], key=lambda row: row[1]
    ):
        now, why = seconds(when), None
        if ask:
            if key in sources and too_wide(last[key], number, now):
                last[key], why = sources[key].ask("here", now, need=number), "asked"
        elif key not in sources:
            options = {"limits": OPTIONS["limits"], "max_silence": 20.0, "seed": chance[key]}
            sources[key] = Source(key, number, rule="settling", costs=Costs(4.0, 2.0), **options)
            last[key], why = sources[key].subscribe("here", now), "first"
        elif sent := sources[key].update(number, now).get("here"):
            last[key], why = sent, KINDS[sent.why]
        if why:
            low, high = last[key].interval[:2]
            found.append((key, when, low, high, why, 2.0 if why == "asked" else 4.0))
    return Counter(map(rounded, found))


def too_wide(held, delta: float, now: float) -> bool:
    return held.interval.high - held.interval.low > delta or now > held.sent + 20


def rounded(row) -> tuple:
    """Return a row whose floats are rounded: compiled code may differ in the last bit."""
    key, when, low, high, why, cost = row
    return key, when.astimezone(UTC), round(low, 6), round(high, 6), why, cost


def refreshes(frame) -> Counter:
    return Counter(rounded(tuple(row)) for row in frame.collect())


def start(spark, files, **options):
    frames = [one.stream(spark) for one in files]
    return thin(frames[0], "k", "v", "at", queries=frames[1], **(OPTIONS | options))


@pytest.mark.slow
def test_stream_batch_and_sources_agree(spark, tmp_path):
    readings, queries = walk(random.Random(1), 600)
    files = write(tmp_path, readings[:400], [q for q in queries if q[1] < at(400)], parts=3)
    run(start(spark, files), tmp_path)
    add(files, readings[400:], [q for q in queries if q[1] >= at(400)], parts=1)
    query = run(start(spark, files), tmp_path)  # goes on from its checkpoint
    everything = expected(spark, readings, queries)
    assert {row[4] for row in everything} == set(KINDS)  # every kind occurs
    assert refreshes(spark.read.parquet(str(tmp_path / "out"))) == everything
    still = [one.batch(spark) for one in files]
    batch = thin(still[0], "k", "v", "at", queries=still[1], **OPTIONS)
    assert batch.columns == ["k", "at", "low", "high", "kind", "cost"]
    assert refreshes(batch) == everything
    told = metrics(query)
    assert (told.readings, told.queries, told.keys) == (600, 200, 5)
    assert told.sent == sum(everything.values())
    assert told.late == told.late_queries == told.no_number == 0
    assert 0 < told.kept < 1
    assert told.bytes_held > 0


def test_rows_that_cannot_be_used_are_counted(spark, tmp_path):
    files = Files(tmp_path / "readings", "k int, at timestamp, v float")
    good = [(1, at(10), 5.0), (1, at(11), 5.5), (2, at(11), 1.0)]
    bad = [(None, at(1), 1.0), (1, None, 1.0), (1, at(12), None)]
    bad += [(1, at(12), math.nan), (1, at(12), math.inf)]
    files.add(good + bad)
    files.add([(1, at(9), 50.0), (1, at(13), 9.0)])  # the first one is late
    frame = thin(files.stream(spark), "k", "v", "at", rule="static:width=2")
    told = metrics(run(frame, tmp_path))
    assert (told.readings, told.null_keys, told.null_times, told.no_number) == (10, 1, 1, 3)
    assert (told.late, told.first, told.above, told.sent) == (1, 2, 1, 3)
    assert refreshes(spark.read.parquet(str(tmp_path / "out"))) == Counter(
        [
            (1, at(10), 4.0, 6.0, "first", 1.0),
            (2, at(11), 0.0, 2.0, "first", 1.0),
            (1, at(13), 8.0, 10.0, "above", 1.0),
        ]
    )


@pytest.mark.slow  # five queries
def test_another_rule_is_refused_and_the_checkpoint_lives_on(spark, tmp_path):
    readings, queries = walk(random.Random(2), 90)
    files = write(tmp_path, readings[:60], queries[:20], parts=1)
    run(start(spark, files), tmp_path)
    add(files, readings[60:], queries[20:], parts=1)
    for wrong, named in [
        ({"rule": "adaptive"}, "a thin with rule='settling', and now with rule='adaptive'"),
        ({"limits": [1.0]}, r"a thin with limits=\[0.0\], and now with limits=\[1.0\]"),
        ({"buckets": 7}, "a thin with buckets=2, and now with buckets=7"),
    ]:
        with pytest.raises(StreamingQueryException, match=named):
            run(start(spark, files, **wrong), tmp_path)
    query = run(start(spark, files, costs=[1.0, 2.0], max_silence=None), tmp_path)
    assert metrics(query).readings == 90


def test_keys_of_several_columns_and_times_without_a_zone(spark):
    zoneless = "to_timestamp_ntz(timestamp_seconds(id)) AS at"
    frame = spark.range(100).selectExpr(
        "id % 2 AS `a.b`", "string(id % 3) AS c", zoneless, "id AS v"
    )
    found = thin(frame, ["a.b", "c"], "v", "at", rule="static:width=1e9")
    assert found.schema.simpleString().startswith("struct<a.b:bigint,c:string,at:timestamp_ntz,low")
    first = {(row["a.b"], row["c"]): row["at"].second for row in found.collect()}
    assert first == {(i % 2, str(i % 3)): i for i in range(6)}


NUMBERS = {
    "bigint": ["9007199254740993", "-9007199254740993", "9007199254740992", str(2**63 - 1)],
    "decimal(38,0)": ["9007199254740993", "12345678901234567890123456789012345678", "-30"],
    "decimal(10,2)": ["0.10", "20.50", "-0.25", "30.00", "99999999.99"],
    "decimal(38,18)": ["0.1", "20.5", "30", "12345678901234567890.123456789012345678", "-1e-18"],
    "decimal(38,38)": ["0.1", "0.5", "-0.99999999999999999999999999999999999999"],
    "decimal(18,0)": ["9007199254740993", "999999999999999999"],
    "float": ["0.1", "1e38"],
    "double": ["0.1", "1e308"],
}


@pytest.mark.parametrize("kind", some(NUMBERS, ("bigint", "decimal(38,18)", "float")))
def test_intervals_contain_numbers_that_no_double_equals(spark, kind):
    """Also the narrowest; and numbers that are doubles are known exactly, at a limit too."""
    rows = [(number, text) for number, text in enumerate(NUMBERS[kind])]
    frame = spark.createDataFrame(rows, "rounded int, text string").selectExpr(
        "rounded", "timestamp_seconds(0) AS at", f"CAST(text AS {kind}) AS v"
    )
    found = thin(frame, "rounded", "v", "at", rule="static:width=0", limits=[30.0])
    values = {row.rounded: row.v for row in frame.collect()}
    intervals = found.collect()
    assert len(intervals) == len(values)
    for row in intervals:
        value = Fraction(values[row.rounded])
        assert row.low <= value <= row.high
        if value == float(value):
            assert row.low == row.high or abs(value) > 2**53
        else:
            assert row.low == math.nextafter(float(value), -math.inf)
            assert row.high == math.nextafter(float(value), math.inf)


def test_the_latest_interval_of_each_key(spark):
    rows = [("a", 1, 0.0, 1.0), ("a", 2, 5.0, 6.0), ("a", 2, 4.0, 5.5), ("b", 1, 7.0, 8.0)]
    frame = spark.createDataFrame(rows, "k string, at int, low double, high double")
    found = sorted(map(tuple, latest(frame, "k", "at").collect()))
    assert found == [("a", 2, 4.0, 6.0), ("b", 1, 7.0, 8.0)]


@pytest.mark.parametrize("name", some(["__penstock_key", "last", "LAST"], ["LAST"]))
def test_a_key_that_is_called_as_ours(spark, name):
    frame = spark.range(4).selectExpr(
        f"string(id % 2) AS `{name}`", "timestamp_seconds(id) AS at", "id AS v"
    )
    refreshed = thin(frame, name, "v", "at", rule="static:width=2")
    found = sorted(
        tuple(row)[:1] + tuple(row)[2:] for row in latest(refreshed, name, "at").collect()
    )
    assert found == [("0", 1.0, 3.0), ("1", 2.0, 4.0)]


BAD = {
    "key as column": ({"key": F.lit}, "key must name a column"),
    "value as number": ({"value": 5}, "a column of the updates frame must be given by its name"),
    "rule none": ({"rule": None}, "rule must be a text, got None"),
    "rule by case": ({"rule": "Static"}, "did you mean 'static'"),
    "limits none": ({"limits": None}, "limits must be some numbers, such as"),
    "silence too long": ({"max_silence": "99999999999 days"}, "max_silence must be at most"),
    "buckets too many": ({"buckets": 10**9}, "buckets must be at most 100000"),
    "checkpoint of a batch": ({"checkpoint": "here"}, "checkpoint is for streams, and a thin of"),
    "no such key": ({"key": "kk"}, "no column 'kk'; did you mean 'k'"),
    "no such value": ({"value": "vv"}, "no column 'vv'"),
    "text as value": ({"value": "s"}, "'s' of the updates frame must hold numbers, got string"),
    "number as time": ({"time": "n"}, "'n' of the updates frame must be a timestamp"),
    "value is key": ({"value": "n", "key": "n"}, "must be different columns"),
    "no rule": ({"rule": "adaptiv"}, "did you mean 'adaptive'"),
    "moving rule": ({"rule": "growing"}, "move with time"),
    "rule of simulations": ({"rule": "exact"}, "for simulations"),
    "one cost": ({"costs": 1}, "costs must be two numbers"),
    "cost of nothing": ({"costs": (1, 0)}, "query-initiated refresh must be a number above 0"),
    "limit": ({"limits": [math.nan]}, "an alarm limit must be a finite number"),
    "no silence": ({"max_silence": "0 seconds"}, "max_silence must be greater than 0"),
    "silence as number": ({"max_silence": 5}, "max_silence must be a span of time"),
    "buckets": ({"buckets": 0}, "buckets must be a whole number of at least 1"),
    "seed": ({"seed": -1}, "seed must be"),
    "queries without delta": ({"queries": "v"}, "queries frame has no column 'delta'"),
    "queries by other keys": ({"queries": "other"}, "must have one type, got"),
    "a name taken": ({"key": "kind"}, "'kind' has the name of a result"),
}


@pytest.mark.parametrize(("change", "said"), BAD.values(), ids=BAD)
def test_mistakes_are_reported_before_the_start(spark, change, said):
    frame = spark.range(1).selectExpr(
        "id AS k", "now() AS at", "1.0 AS v", "id AS n", "'x' AS s", "1 AS kind"
    )
    given = {"key": "k", "value": "v", "time": "at", "rule": "static"} | change
    if given.get("queries") == "v":
        given["queries"] = frame
    if given.get("queries") == "other":
        given["queries"] = frame.selectExpr("string(k) AS k", "at", "1 AS delta")
    with pytest.raises(PenstockError, match=said):
        thin(frame, **given)


def test_streams_and_batches_do_not_mix(spark, tmp_path):
    files = write(tmp_path, *walk(random.Random(3), 3), parts=1)
    with pytest.raises(PenstockError, match="the queries frame is not; read it with readStream"):
        thin(files[0].stream(spark), "k", "v", "at", queries=files[1].batch(spark))
    with pytest.raises(PenstockError, match="latest takes a batch frame"):
        latest(start(spark, files), "k", "at")


def test_without_queries_there_is_a_warning(spark):
    frame = spark.range(1).selectExpr("id AS k", "now() AS at", "1.0 AS v")
    with pytest.warns(UserWarning, match="without queries= nothing narrows an interval"):
        thin(frame, "k", "v", "at")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thin(frame, "k", "v", "at", rule="static:width=3")


@pytest.mark.slow  # a Spark process of its own
def test_over_connect(spark, tmp_path):
    readings, queries = walk(random.Random(4), 200)
    write(tmp_path, readings, queries, parts=2)
    given = {"folder": str(tmp_path), "master": "connect", "options": OPTIONS}
    driver = start_driver(given, tmp_path / "log", DRIVER)
    try:
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    everything = expected(spark, readings, queries)
    assert refreshes(spark.read.parquet(str(tmp_path / "out"))) == everything
    assert told["batch_rows"] == sum(everything.values())
    assert told["readings"] == 200
    values = {key: value for key, _, value in readings}
    low, high, wanted = told["answer"]
    assert low <= sum(values.values()) <= high
    assert wanted


@pytest.mark.slow  # a Spark process of its own, killed on its way
def test_killed_and_started_anew(spark, tmp_path):
    readings, queries = walk(random.Random(6), 600)
    files = write(tmp_path, readings, queries, parts=12)
    run_and_kill(tmp_path, {"options": OPTIONS}, DRIVER)
    query = run(start(spark, files), tmp_path)
    told = metrics(query)
    assert (told.readings, told.queries) == (600, 200)
    if told.late + told.late_queries == 0:  # else a batch of one source had two files
        everything = expected(spark, readings, queries)
        assert refreshes(spark.read.parquet(str(tmp_path / "out"))) == everything
    assert told.sent == spark.read.parquet(str(tmp_path / "out")).count()
