"""HEEB in a bucket: as the local engine, with models that it fits while it runs."""

from collections import Counter

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.spark import join, metrics
from penstock.spark.checks import check_policy
from tests.spark.plans import Engine, Run, make_plan, rows_of
from tests.spark.streams import Files, at, run


def drifting(rng, steps):
    """Draw columns (side, key, time, value) of two streams whose keys rise with time."""
    time = np.repeat(np.arange(steps), 2)
    side = np.tile([0, 1], steps)
    key = time + rng.normal(0, 6, len(time)).round().astype(np.int64)
    return side, key, time, rng.integers(0, 2**40, len(time))


def test_a_bucket_finds_what_the_local_engine_finds():
    rng = np.random.default_rng(1)
    columns = drifting(rng, 1500)
    plan = make_plan(policy="heeb", budget=12, within=40, delay=0)
    bucket, engine = Run(plan), Engine(plan)
    found, expected = Counter(), Counter()
    for first in range(0, 3000, 500):
        part = [column[first : first + 500] for column in columns]
        found += rows_of(bucket.take(*part))
        expected += engine.take(*part)
    assert found == expected
    assert found


def test_names_have_no_order():
    with pytest.raises(BadInput, match="policy 'heeb' goes by the order of keys"):
        check_policy("heeb", "joining", make_plan(budget=12, text_key=True).inputs)


@pytest.mark.slow  # each worker compiles HEEB first
@pytest.mark.spark
def test_on_spark_it_keeps_what_the_trend_will_bring(spark, tmp_path):
    rng = np.random.default_rng(2)
    sides = [Files(tmp_path / side, "k long, ts timestamp") for side in "ab"]
    side, key, time, _ = drifting(rng, 3000)
    for first in range(0, 3000, 1000):
        for number, files in enumerate(sides):
            mine = (side == number) & (time >= first) & (time < first + 1000)
            files.add([(int(k), at(int(t))) for k, t in zip(key[mine], time[mine], strict=True)])
    found = {}
    for policy in ("heeb", "rand"):
        frames = [files.stream(spark) for files in sides]
        window = {"time": "ts", "within": "60 seconds", "delay": "5 seconds"}
        frame = join(*frames, "k", **window, budget=16, policy=policy)
        found[policy] = metrics(run(frame, tmp_path, policy)).matches
    assert found["heeb"] > 1.15 * found["rand"]
