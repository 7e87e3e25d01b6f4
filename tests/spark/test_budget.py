"""With too little memory Spark gives what the local engine gives, bucket by bucket."""

import random
from collections import Counter

import numpy as np
import pytest

from penstock.engine.ledger import Ledger, digest
from penstock.spark import join, metrics
from penstock.spark.runtime.labels import bucket_of
from tests.spark.plans import Engine, make_plan
from tests.spark.streams import START, Files, arrivals, at, bag, cut, run

pytestmark = pytest.mark.spark

WINDOW = {"time": "ts", "within": "20 seconds", "delay": "10 seconds"}


def shares_of(plan, batches) -> list[np.ndarray]:
    """Return what each bucket may hold in each micro-batch, and after it; a side is a partition."""
    ledger = Ledger(plan.joins, plan.buckets, plan.budget, plan.within, bucket_of)
    taken = []
    for side, key, time in batches:
        mine = [(key[side == stream], time[side == stream]) for stream in (0, 1)]
        after = ledger.take([digest(s, k, t, len(k), plan.within) for s, (k, t) in enumerate(mine)])
        taken.append((ledger.during, after))
    return taken


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
    shares = shares_of(plan, [(side, key, time + start) for side, key, time, _ in batches])
    for number in range(3):
        engine = Engine(plan, number)
        for (side, key, time, values), (during, after) in zip(batches, shares, strict=True):
            engine.join.resize(int(during[number]))
            mine = bucket_of(key, 3) == number
            rows = engine.take(side[mine], key[mine], time[mine] + start, values[mine])
            expected.update(row[1:] for row in rows.elements())
            engine.join.advance(int(time.max()) + start)  # what has expired is not evicted
            engine.join.resize(int(after[number]))
        evicted += int(engine.join.counters["evicted"].sum())
        held += engine.join.held
    assert found == expected
    assert sum(told.evicted) == evicted > 0
    assert told.rows_held == held <= 25
    assert told.shares == (shares[-1][1].min(), shares[-1][1].max())
    assert told.hottest[0][1] >= 1 / 12  # of 12 keys the most frequent one
    assert told.in_force.buckets == {policy.partition(":")[0]: 3}
    assert told.matches == sum(found.values())
    exact = bag(join(*[files.batch(spark) for files in sides], on="k", **WINDOW))
    assert sum(found.values()) < sum(exact.values())


@pytest.mark.slow
def test_bytes_and_halves(spark, tmp_path):
    rng = random.Random(7)
    sides = [Files(tmp_path / side, "k string, ts timestamp, s string") for side in "ab"]
    for part in cut(rng, arrivals(rng, 300, 100), 3):
        for side, files in enumerate(sides):
            mine = [t for s, t in part if s == side]
            files.add([(rng.choice("pqrstu"), at(t), "x" * rng.randrange(99)) for t in mine])
    streams = [files.stream(spark) for files in sides]
    options = {"on": "k", "budget": "18 kB", "layout": "split", "policy": "clock", **WINDOW}
    told = metrics(run(join(*streams, **options), tmp_path))
    assert 12_000 < told.bytes_held <= 18 * 1024
    exact = bag(join(*[files.batch(spark) for files in sides], on="k", **WINDOW))
    found = bag(spark.read.parquet(str(tmp_path / "out")))
    assert found < exact
    assert told.matches == sum(found.values())
