"""With too little memory Spark gives what the local engine gives, bucket by bucket."""

import random
from collections import Counter

import numpy as np
import pytest

from penstock.spark import join, metrics
from penstock.spark.buckets import sort_by_bucket
from tests.spark.plans import Engine, make_plan
from tests.spark.streams import START, Files, arrivals, at, bag, cut, run

pytestmark = pytest.mark.spark

WINDOW = {"time": "ts", "within": "20 seconds", "delay": "10 seconds"}


def bucket_of(keys: np.ndarray, buckets: int) -> np.ndarray:
    start, order = np.zeros(buckets + 1, np.int64), np.empty(len(keys), np.int64)
    bucket = np.empty(len(keys), np.int64)
    sort_by_bucket(keys, buckets, bucket, start, order)
    return bucket


@pytest.mark.parametrize("policy", ["clock", pytest.param("rand", marks=pytest.mark.slow)])
def test_the_rows_of_the_local_engine(spark, tmp_path, policy):
    rng = random.Random(policy)
    sides = [Files(tmp_path / side, "k long, ts timestamp, v long") for side in "ab"]
    batches, value = [], 0
    for part in cut(rng, arrivals(rng, 400, 200), 4):
        rows = []
        for side, time in part:
            value += 1
            rows.append((side, rng.randrange(12), round(time * 1e6), value))
        batches.append(np.array(rows, np.int64).reshape(-1, 4).T)
        for side, files in enumerate(sides):
            mine = [(k, at(t / 1e6), v) for s, k, t, v in rows if s == side]
            files.add(mine)
    out = join(
        *[files.stream(spark) for files in sides],
        on="k",
        budget=25,
        policy=policy,
        buckets=3,
        seed=4,
        **WINDOW,
    )
    told = metrics(run(out, tmp_path))
    found = Counter(
        (row.k, row.v_left, row.v_right)
        for row in spark.read.parquet(str(tmp_path / "out")).collect()
    )
    start = int(START.timestamp()) * 10**6
    plan = make_plan(within=20 * 10**6, delay=10**7, budget=25, policy=policy, buckets=3, seed=4)
    expected, evicted, held = Counter(), 0, 0
    for number in range(3):
        engine = Engine(plan, number)
        for side, key, time, values in batches:
            mine = bucket_of(key, 3) == number
            rows = engine.take(side[mine], key[mine], time[mine] + start, values[mine])
            expected.update(row[1:] for row in rows.elements())
        evicted += int(engine.join.counters["evicted"].sum())
        held += engine.join.held
    assert found == expected
    assert sum(told.evicted) == evicted > 0
    assert told.rows_held == held <= 25
    assert told.ruling.buckets == {policy.partition(":")[0]: 3}
    assert told.matches == sum(found.values())
    exact = bag(join(*[files.batch(spark) for files in sides], on="k", **WINDOW))
    assert sum(found.values()) < sum(exact.values())


def test_bytes_and_halves(spark, tmp_path):
    rng = random.Random(7)
    sides = [Files(tmp_path / side, "k string, ts timestamp, s string") for side in "ab"]
    for part in cut(rng, arrivals(rng, 300, 100), 3):
        for side, files in enumerate(sides):
            mine = [t for s, t in part if s == side]
            files.add([(rng.choice("pqrstu"), at(t), "x" * rng.randrange(99)) for t in mine])
    streams = [files.stream(spark) for files in sides]
    options = {"on": "k", "budget": "8 kB", "layout": "split", "policy": "clock", **WINDOW}
    told = metrics(run(join(*streams, **options), tmp_path))
    assert 4000 < told.bytes_held <= 8192
    exact = bag(join(*[files.batch(spark) for files in sides], on="k", **WINDOW))
    found = bag(spark.read.parquet(str(tmp_path / "out")))
    assert found < exact
    assert told.matches == sum(found.values())
