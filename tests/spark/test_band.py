"""Band joins on Spark are Spark's own join with `abs(a.v - b.v) <= near` in its condition."""

import math
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from penstock import BadInput, BadState
from penstock.spark import join, metrics
from penstock.spark.frames import KEY, Input
from penstock.spark.near import of_singles
from penstock.spark.runtime.arrow import to_ipc
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.recount import recount
from tests.spark.plans import make_plan, rows_of, take, told
from tests.spark.streams import Files, at, bag, plain, run

pytestmark = pytest.mark.spark

WITHIN = 20
SPAN = f"{WITHIN} seconds"


def condition(near, keys):
    """Return Spark's condition; a join of streams needs some equality."""
    times = f"b.ts between a.ts - interval {SPAN} and a.ts + interval {SPAN}"
    equal = F.col("a.k") == F.col("b.k") if keys else F.col("a.one") == F.col("b.one")
    return equal & (F.abs(F.col("a.v") - F.col("b.v")) <= F.lit(near)) & F.expr(times)


def own(left, right, near, keys, how):
    """Spark's own join, whose rows are known by the columns `a` and `b`."""
    one, other = (frame.withColumn("one", F.lit(1)) for frame in (left, right))
    out = one.alias("a").join(other.alias("b"), condition(near, keys), how)
    return out.select("a.a", *(() if how in ("semi", "anti") else ("b.b",)))


def ours(left, right, near, keys, how, **options):
    options |= {"time": "ts", "within": SPAN, "how": how, "near": {"v": near}}
    found = join(left, right, **({"on": "k"} if keys else {}), **options)
    return found.select("a", *(() if how in ("semi", "anti") else ("b",)))


def drawn(rng, kind, near):
    """Return a value, often one that is just `near` away from others."""
    if rng.random() < 0.05:
        return None
    steps = rng.randrange(-8, 9) / 2
    if kind in ("double", "float"):
        odd = (math.nan, math.inf, -math.inf, -0.0, 1e30)
        value = rng.choice(odd) if rng.random() < 0.1 else steps * near
        return math.nextafter(value, rng.choice([-math.inf, math.inf, value]))
    if kind.startswith("decimal"):
        return round(Decimal(steps) * near, 2)
    return int(steps * near)


def draw_rows(rng, kind, near, count, first=0, span=60):
    """Return rows (k, v, ts, number) of one side, some without a key."""
    return [
        (
            None if rng.random() < 0.05 else rng.randrange(3),
            drawn(rng, kind, near),
            at(round(first + rng.uniform(0, span), 3)),
            number,
        )
        for number in range(int(first * 1000), int(first * 1000) + count)
    ]


KINDS = [
    ("double", 0.1, True, "inner"),
    ("float", 0.1, False, "full"),
    ("decimal(9,2)", Decimal("0.30"), True, "left"),
    ("bigint", 3, False, "anti"),
]


@pytest.mark.parametrize(("kind", "near", "keys", "how"), KINDS)
def test_batches_are_those_of_spark(spark, tmp_path, kind, near, keys, how):
    rng = random.Random(f"{kind}")
    sides = [Files(tmp_path / name, f"k int, v {kind}, ts timestamp, {name} int") for name in "ab"]
    for files in sides:
        files.add(draw_rows(rng, kind, near, 300))
    frames = [files.batch(spark) for files in sides]
    expected, found = own(*frames, near, keys, how), ours(*frames, near, keys, how)
    assert bag(found) == bag(expected)
    assert expected.count() > 10


@pytest.mark.parametrize(
    ("keys", "how"), [(True, "left"), pytest.param(False, "inner", marks=pytest.mark.slow)]
)
def test_streams_with_late_rows_and_a_restart_are_those_of_spark(spark, tmp_path, keys, how):
    rng = random.Random(7)
    sides = [Files(tmp_path / name, f"k int, v double, ts timestamp, {name} int") for name in "ab"]
    frames = [files.stream(spark).withWatermark("ts", "5 seconds") for files in sides]
    for number in range(4):
        for files in sides:
            files.add(draw_rows(rng, "double", 0.25, 60, first=8 * number, span=25))
        if number == 1:
            run(own(*frames, 0.25, keys, how), tmp_path, "own")
            run(ours(*frames, 0.25, keys, how), tmp_path, "ours")
    for files in sides:  # lets the others expire
        files.add([(0, 1e9, at(10_000), -1)])
    run(own(*frames, 0.25, keys, how), tmp_path, "own")
    query = run(ours(*frames, 0.25, keys, how), tmp_path, "ours")
    expected, found = (
        Counter(plain(tuple(row)) for row in spark.read.parquet(str(tmp_path / name)).collect())
        for name in ("own", "ours")
    )
    assert found == expected
    assert sum(found.values()) > 100
    assert metrics(query).late[0] > 0
    place = str(tmp_path / "ours-checkpoint")
    with pytest.raises(BadState, match=r"near=\{'v': 0.25\}, and now with near=\{'v': 0.5\}"):
        ours(*frames, 0.5, keys, how, checkpoint=place)


@pytest.mark.slow  # of one bucket, without Spark: see below
def test_recall_of_a_band_join_is_reported(spark, tmp_path):
    rng = random.Random(3)
    sides = [Files(tmp_path / name, f"k int, v double, ts timestamp, {name} int") for name in "ab"]
    for number in range(3):
        for files in sides:
            files.add(draw_rows(rng, "double", 0.5, 200, first=15 * number, span=15))
    frames = [files.stream(spark) for files in sides]
    options = {"delay": "30 seconds", "budget": 60, "policy": "prob", "recall_sample": 1.0}
    query = run(ours(*frames, 0.5, True, "inner", buckets=2, **options), tmp_path, "some")
    told = metrics(query)
    every = own(*(files.batch(spark) for files in sides), 0.5, True, "inner").count()
    assert 0 < told.matches < every
    assert told.recall == pytest.approx(told.matches / every)
    assert told.row_recall == (None, None)
    assert told.rows_held <= 60


SOURCE = Input(("k",), "ts", ("k", "v", "ts", "n"), ("int", "double", "timestamp", "int"), near="v")


@pytest.mark.parametrize("budget", [None, 25])
def test_a_bucket_that_is_restored_finds_what_is_near_and_tells_its_recall(budget):
    rng = np.random.default_rng(5)
    count, near = 400, 0.5
    side, key = rng.integers(0, 2, count), rng.integers(0, 3, count)
    value, time = rng.integers(0, 20, count) / 4, np.sort(rng.integers(0, 900, count))
    plan = replace(
        make_plan(budget=budget, policy="lru", sample=1.0, near=near, said_near="{'v': 0.5}"),
        inputs=(SOURCE, SOURCE),
        output=(((0, "n", "a"), (1, "n", "b")),),
    )
    state, found = None, Counter()
    for part in np.array_split(np.arange(count), 5):
        bucket = JoinBucket(plan, 0, state)
        packets = []
        for number in (0, 1):
            mine = part[side[part] == number]
            columns = {
                KEY: pa.array(key[mine] * 2**40),
                "k": pa.array(key[mine], pa.int32()),
                "v": pa.array(value[mine]),
                "ts": pa.array(time[mine]).cast(pa.timestamp("us", "UTC")),
                "n": pa.array(mine, pa.int32()),
            }
            packets.append((number, to_ipc(pa.table(columns))))
        outcome = take(bucket, packets)
        found += rows_of(outcome)
        state = outcome.state
        recount(bucket.join)
    left, right = (np.flatnonzero(side == number) for number in (0, 1))
    apart = np.abs(value[left][:, None] - value[right][None, :])
    match = (apart <= near) & (key[left][:, None] == key[right][None, :])
    match &= np.abs(time[left][:, None] - time[right][None, :]) <= plan.within
    every = Counter(
        (0, int(left[a]), int(right[b])) for a, b in zip(*np.nonzero(match), strict=True)
    )
    if budget is None:
        assert found == every
        return
    assert not found - every
    figures = told(outcome.totals)
    assert 0 < figures.recall < 1
    assert figures.recall == pytest.approx(found.total() / every.total())
    assert figures.row_recall == (None, None)


def test_what_cannot_be_compared_is_refused(spark):
    ts = F.current_timestamp().alias("ts")
    left = spark.range(1).select("id", F.lit("x").alias("t"), ts, F.lit(1.5).alias("v"))
    left = left.withColumn("d", F.lit("1").cast("decimal(30,2)"))
    right = left.withColumn("w", F.lit(1))

    def refused(message, near, other=right, **options):
        with pytest.raises(BadInput, match=message):
            join(left, other, **{"on": "id", "time": "ts", "near": near} | options)

    refused("near must say of one column", 0.5)
    refused("near must say of one column", {"v": 1, "id": 1})
    refused("above 0", {"v": 0})
    refused("above 0", {"v": "1"})
    refused("at most 9223372036854775807 for a bigint", {"id": 2**63})
    refused("must be a number", {"t": 1})
    refused("18 digits", {"d": 1})
    refused("no column 'speed'", {"speed": 1})
    refused("must have one type, got", {("v", "w"): 1})
    refused("one bucket", {"v": 1}, on=(), buckets=4)
    refused("on must name", None, on=())
    refused("archive is for streams", {"v": 1}, archive="folder")


@pytest.mark.parametrize("near", [0.1, 0.5, 1 / 3, 1e-40, 3e38, 1e-50])
def test_differences_of_floats_are_rounded_as_spark_rounds_them(near):
    largest = of_singles(near)
    assert float(np.float32(largest)) <= near
    assert float(np.float32(math.nextafter(largest, math.inf))) > near or largest == near
