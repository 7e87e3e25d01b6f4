"""With memory enough the join is Spark's own join, whatever the keys, payloads, cuts and stops."""

import random
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from penstock.spark import join, join_many, lookup, metrics
from tests.spark.streams import DELAY, WITHIN, Files, arrivals, at, bag, cut, results, run

pytestmark = pytest.mark.spark

EXACT = {"time": "ts", "within": f"{WITHIN} seconds", "delay": f"{DELAY} seconds"}
NAN = float("nan")


def own_join(left, right, keys, within=WITHIN):
    """Spark's own join, with our columns and names."""
    a, b = left.alias("a"), right.alias("b")
    where = F.expr(
        " and ".join(f"a.{key} = b.{key}" for key in keys)
        + f" and a.ts >= b.ts - interval {within} seconds"
        + f" and a.ts <= b.ts + interval {within} seconds"
    )
    rest = [n for n in left.columns if n not in keys], [n for n in right.columns if n not in keys]
    return a.join(b, where).select(
        *[F.col(f"a.{key}") for key in keys],
        *[F.col(f"a.{n}").alias(n + "_left" if n in rest[1] else n) for n in rest[0]],
        *[F.col(f"b.{n}").alias(n + "_right" if n in rest[0] else n) for n in rest[1]],
    )


KEYS = {
    "long": ("k long", lambda r: (r.randrange(-3, 5),)),
    "byte": ("k tinyint", lambda r: (r.randrange(-3, 5),)),
    "string": ("k string", lambda r: (r.choice(["", "a", "ä", "a\0", "long" * 20]),)),
    "several": ("x int, y string", lambda r: (r.randrange(3), r.choice(["p", "q"]))),
    "double": ("k double", lambda r: (r.choice([0.0, -0.0, NAN, 1.5, float("inf")]),)),
    "date": ("k date", lambda r: (date(2024, 1, r.randrange(1, 5)),)),
    "decimal": ("k decimal(20,2)", lambda r: (Decimal(r.randrange(4)) / 4,)),
    "struct": (
        "k struct<a:int,b:string,c:double>",
        lambda r: ({"a": r.choice([1, None]), "b": "s", "c": r.choice([0.0, -0.0, NAN])},),
    ),
    "binary": ("k binary", lambda r: (r.choice([b"", b"\0", b"\xff"]),)),
    "array": ("k array<int>", lambda r: (r.choice([[], [1], [1, None]]),)),
}


def test_batches_where_spark_wants_wide_offsets(spark):
    """Its `applyInArrow` takes exactly the types that were announced."""

    def fetch(keys):
        return pa.table({"k": keys, "name": keys})

    rows = [(key, at(second), "x") for second, key in enumerate(["a", "b", None, "a"])]
    frame = spark.createDataFrame(rows, "k string, ts timestamp, v string")
    wide = "spark.sql.execution.arrow.useLargeVarTypes"
    spark.conf.set(wide, "true")
    try:
        assert join(frame, frame, "k", **EXACT).count() == 5
        assert lookup(frame, fetch, "k", budget=2).where("name = k").count() == 3
    finally:
        spark.conf.unset(wide)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_in_streams_with_stops(spark, tmp_path, kind):
    rng = random.Random(kind)
    columns, draw = KEYS[kind]
    keys = [part.split(" ")[0] for part in columns.split(", ")]
    sides = [Files(tmp_path / s, f"{columns}, ts timestamp, v int") for s in "ab"]
    parts = cut(rng, arrivals(rng, 160, 120), 4)
    for number, part in enumerate(parts):
        rows = [[], []]
        for place, (side, time) in enumerate(part):
            key = draw(rng) if rng.random() > 0.05 else (None,) * len(keys)
            rows[side].append((*key, at(time), 1000 * number + place))
        for files, mine in zip(sides, rows, strict=True):
            files.add(mine)
        if number in (1, 3):  # stop after the second, and start anew
            out = join(*[files.stream(spark) for files in sides], on=keys, **EXACT)
            query = run(out, tmp_path)
    expected = bag(own_join(*[files.batch(spark) for files in sides], keys))
    assert results(spark, tmp_path) == expected
    assert sum(expected.values()) > 50
    told = metrics(query)
    assert told.matches == sum(expected.values())
    assert sum(told.arrived) == 160
    assert sum(told.null_keys) > 0
    assert sum(told.late) == 0
    assert told.recall == 1.0


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_same_rows_as_sparks_own_join_of_streams(spark, tmp_path, seed):
    rng = random.Random(seed)
    sides = [Files(tmp_path / s, "k int, ts timestamp, v int") for s in "ab"]
    for part in cut(rng, arrivals(rng, 300, 200), 5):
        for side, files in enumerate(sides):
            mine = [(rng.randrange(6), at(t), rng.randrange(9)) for s, t in part if s == side]
            files.add(mine)
    left, right = [files.stream(spark).withWatermark("ts", f"{DELAY} seconds") for files in sides]
    run(own_join(left, right, ["k"]), tmp_path, "own")
    # The frames carry their watermark, so that no delay need be given.
    ours = left.transform(join, right, on="k", time="ts", within=f"{WITHIN} seconds", buckets=3)
    run(ours, tmp_path, "ours")
    expected = results(spark, tmp_path, "own")
    assert results(spark, tmp_path, "ours") == expected
    assert sum(expected.values()) > 100


PAYLOAD = """s string, d decimal(12,3), day date, raw binary, list array<int>,
 pair struct<a:int,b:array<string>>, look map<string,double>,
 deep map<string,array<struct<x:long>>>, flag boolean, f float, local timestamp_ntz"""


@pytest.mark.slow
@pytest.mark.parametrize("budget", [None, 1000])
def test_a_source_that_runs_far_ahead_of_the_other(spark, tmp_path, budget):
    rng = random.Random(1)
    sides = [Files(tmp_path / side, "k int, ts timestamp, v int") for side in "ab"]
    for start in range(0, 600, 60):  # seconds a file: many times the delay
        for side in sides:
            times = sorted(rng.uniform(start, start + 60) for _ in range(30))
            side.add([(rng.randrange(4), at(time), rng.randrange(10**6)) for time in times])
    fast = spark.readStream.schema(sides[0].schema).option("maxFilesPerTrigger", 4)
    left, right = fast.parquet(str(sides[0].folder)), sides[1].stream(spark)
    query = run(join(left, right, on="k", budget=budget, policy="clock", **EXACT), tmp_path)
    batch = bag(join(*(side.batch(spark) for side in sides), on="k", **EXACT))
    assert results(spark, tmp_path) == batch
    assert metrics(query).late == (0, 0)
    assert sum(metrics(query).expired) > 300


def draw_payload(rng):
    def maybe(value):
        return None if rng.random() < 0.2 else value

    number = rng.randrange(100)
    return (
        maybe("é" * (number % 5)),
        maybe(Decimal(number) / 8),
        maybe(date(2020, 1, 1 + number % 28)),
        maybe(bytes([number, 255])),
        maybe([number, None]),
        maybe({"a": maybe(number), "b": maybe(["x", None])}),
        maybe({"one": float(number), "two": None}),
        maybe({"deep": [{"x": number}, None]}),
        maybe(number % 2 == 0),
        maybe(number / 4),
        maybe(at(number).replace(tzinfo=None)),
    )


def test_payloads_of_any_type(spark, tmp_path):
    rng = random.Random(5)
    schema = f"k string, ts timestamp, {PAYLOAD}"
    sides = [Files(tmp_path / s, schema) for s in "ab"]
    for part in cut(rng, arrivals(rng, 120, 100), 3):
        for side, files in enumerate(sides):
            mine = [t for s, t in part if s == side]
            files.add([(rng.choice("pqr"), at(t), *draw_payload(rng)) for t in mine])
    run(join(*[files.stream(spark) for files in sides], on="k", **EXACT), tmp_path)
    batches = [files.batch(spark) for files in sides]
    expected = bag(own_join(*batches, ["k"]))
    assert results(spark, tmp_path) == expected
    ours = join(*batches, on="k", **EXACT)
    assert bag(ours) == expected
    own = own_join(*batches, ["k"])
    assert ours.columns == own.columns
    assert [f.dataType for f in ours.schema] == [f.dataType for f in own.schema]


def test_names_of_columns_and_missing_times(spark):
    left = spark.createDataFrame(
        [(1, at(0), "a", 1), (1, None, "b", 2), (2, at(5), "c", 3), (None, at(1), "d", 4)],
        "k int, `at` timestamp, `v.1` string, w int",
    )
    right = spark.createDataFrame(
        [(1, 10, at(3), "x"), (1, 20, at(21), "y"), (2, 30, at(5), "z"), (2, 40, None, "n")],
        "k int, w int, ts timestamp, other string",
    )
    out = join(left, right, on="k", time=("at", "ts"), within="20 seconds", suffixes=("_l", "_r"))
    assert out.columns == ["k", "at", "v.1", "w_l", "w_r", "ts", "other"]
    found = sorted((row["k"], row["v.1"], row["w_l"], row["w_r"]) for row in out.collect())
    assert found == [(1, "a", 1, 10), (2, "c", 3, 30)]


OURS = ["__penstock_key", "__PENSTOCK_KEY_", "bucket", "side", "place", "latest", "packet"]
OURS += ["join", "state", "key", "time", "c0", "c1", "0", "matched"]


@pytest.mark.parametrize("kind", ["long", "string"])
def test_columns_that_are_called_as_ours(spark, kind):
    rows = [(i % 3, at(i), *(f"{i} {name}" for name in OURS)) for i in range(9)]
    fields = ", ".join(f"`{name}` string" for name in OURS)
    frame = spark.createDataFrame(rows, f"k long, ts timestamp, {fields}")
    frame = frame.withColumn("k", F.col("k").cast(kind))
    right = frame.select("k", "ts")
    ours = join(frame, right, on="k", **EXACT)
    assert ours.columns == ["k", "ts_left", *OURS, "ts_right"]
    assert bag(ours) == bag(own_join(frame, right, ["k"]))
    by_ours = frame.select("ts", F.col("k").alias("__penstock_key"), "bucket")
    found = join(by_ours, by_ours, on="__penstock_key", **EXACT)
    assert bag(found) == bag(own_join(by_ours, by_ours, ["__penstock_key"]))


def test_columns_that_are_called_as_ours_in_streams_without_a_zone(spark, tmp_path):
    """Their watermark is that of a column of ours, which must not take the place of another one."""
    files = Files(tmp_path / "in", "k int, ts timestamp_ntz, __PENSTOCK_KEY int")
    files.add([(number % 3, at(number).replace(tzinfo=None), number) for number in range(9)])
    frame = files.stream(spark)
    run(join(frame, frame, on="k", **EXACT), tmp_path)
    still = files.batch(spark)
    assert results(spark, tmp_path) == bag(own_join(still, still, ["k"]))


def test_a_key_may_be_the_time_itself(spark):
    frame = spark.createDataFrame([(at(0), 1), (at(0), 2), (at(1), 3)], "ts timestamp, v int")
    out = join(frame, frame, on="ts", time="ts", within="1 hour")
    assert out.count() == 5
    assert out.columns == ["ts", "v_left", "v_right"]


def test_no_window_and_no_payload(spark):
    left = spark.createDataFrame([(1, at(0)), (2, at(9999))], "k long, ts timestamp")
    right = spark.createDataFrame([(1, at(99999)), (3, at(0))], "k long, ts timestamp")
    out = join(left, right, on="k", time="ts")
    assert [row.k for row in out.collect()] == [1]


def test_frames_without_rows(spark):
    frame = spark.createDataFrame([], "k string, ts timestamp, v array<int>")
    assert join(frame, frame, on="k", time="ts", within="1 second").collect() == []


@pytest.mark.slow
def test_three_frames_at_once(spark, tmp_path):
    rng = random.Random(3)
    names = "abc"
    sides = [Files(tmp_path / n, f"k string, ts timestamp, {n} int") for n in names]
    drawn = arrivals(rng, 150, 100)
    for part in cut(rng, drawn, 3):
        rows = [[], [], []]
        for _, time in part:
            rows[rng.randrange(3)].append((rng.choice("pqrs"), at(time), rng.randrange(9)))
        for files, mine in zip(sides, rows, strict=True):
            files.add(mine)
    run(join_many([files.stream(spark) for files in sides], on="k", **EXACT), tmp_path)
    a, b, c = [
        files.batch(spark).withColumnRenamed("ts", f"ts_{number}")
        for number, files in enumerate(sides, 1)
    ]

    def near(x, y):
        return F.abs(F.unix_micros(x) - F.unix_micros(y)) <= WITHIN * 10**6

    pairs = a.join(b, "k").where(near("ts_1", "ts_2"))
    triples = pairs.join(c, "k").where(near("ts_1", "ts_3") & near("ts_2", "ts_3"))
    expected = bag(triples.select("k", "ts_1", "a", "ts_2", "b", "ts_3", "c"))
    assert results(spark, tmp_path) == expected
    assert sum(expected.values()) > 20


def test_within_is_elapsed_time_where_sparks_own_interval_follows_the_calendar(spark):
    """In the night to summer time 24 hours by the calendar are 23 hours."""
    zone = "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    spark.conf.set(zone, "Europe/Berlin")
    try:
        at_hours = "select 1 as k, timestamp_seconds(1711796400 + h * 3600) as ts"  # 2024-03-30
        left = spark.sql(f"{at_hours} from values (0) as given(h)")
        right = spark.sql(f"{at_hours}, h as w from values (23), (24), (25) as given(h)")
        ours = join(left, right, on="k", time="ts", within="24 hours")
        assert sorted(row.w for row in ours.collect()) == [23, 24]
        own = own_join(left, right, ["k"], within=24 * 3600)
        assert sorted(row.w for row in own.collect()) == [23]
        elapsed = "abs(unix_micros(a.ts) - unix_micros(b.ts)) <= 24 * 3600 * 1000000L"
        same = left.alias("a").join(right.alias("b"), F.expr(f"a.k = b.k and {elapsed}"))
        assert sorted(row.w for row in same.collect()) == [23, 24]
    finally:
        spark.conf.set(zone, before)
