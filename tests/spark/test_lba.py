"""LBA in a bucket: as the local engine, learning while it runs; on Spark, with names as keys."""

from collections import Counter

import numpy as np
import pytest

from penstock.profile.locality import Locality
from penstock.spark import join, metrics
from tests.spark.plans import Engine, Run, make_plan, rows_of
from tests.spark.streams import Files, at, run

STEPS = 3000


def dealt():
    """Return (side, key, time) of one stream that repeats itself, dealt to both sides in turn."""
    a = np.exp(-np.arange(1, 31) / 8)
    a *= 0.7 / a.sum()
    key = Locality(a, 1 - a.sum(), np.full(300, 1 / 300)).sample(2 * STEPS, seed=3)
    return np.tile([0, 1], STEPS), key, np.repeat(np.arange(STEPS), 2)


def test_a_bucket_learns_as_the_local_engine_does():
    columns = (*dealt(), np.arange(2 * STEPS))
    plan = make_plan(policy="lba", budget=50, within=400, delay=0)
    bucket, engine = Run(plan), Engine(plan)
    found, expected = Counter(), Counter()
    for first in range(0, 2 * STEPS, 700):
        part = [column[first : first + 700] for column in columns]
        found += rows_of(bucket.take(*part))
        expected += engine.take(*part)
    assert found == expected
    assert found


@pytest.mark.slow  # each worker compiles LBA first
@pytest.mark.spark
def test_on_spark_it_keeps_what_came_lately(spark, tmp_path):
    side, key, time = dealt()
    sides = [Files(tmp_path / name, "k string, ts timestamp") for name in "ab"]
    for number, files in enumerate(sides):
        mine = side == number
        files.add([(f"n{k}", at(int(t))) for k, t in zip(key[mine], time[mine], strict=True)])
    found = {}
    for policy in ("lba", "prob"):
        frames = [files.stream(spark) for files in sides]
        window = {"time": "ts", "within": "1000 seconds", "delay": "5 seconds"}
        frame = join(*frames, "k", **window, budget=120, buckets=1, policy=policy)
        found[policy] = metrics(run(frame, tmp_path, policy)).matches
    assert found["lba"] > 1.1 * found["prob"]
