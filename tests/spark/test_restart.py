"""Stopped by force and started anew: every row once. Started as another join: refused."""

import random
import re

import pytest
from pyspark.errors import StreamingQueryException

from penstock.spark import join, metrics
from tests.spark.driver import SCHEMA, read
from tests.spark.processes import await_commits, kill, start_driver
from tests.spark.streams import Files, arrivals, at, bag, cut, results, run

pytestmark = pytest.mark.spark

EXACT = {"time": "ts", "within": "20 seconds", "delay": "10 seconds"}


def write(folder, seed, count=400, files=8):
    """Write the files of two streams."""
    rng = random.Random(seed)
    sides = [Files(folder / side, SCHEMA) for side in "ab"]
    for part in cut(rng, arrivals(rng, count, 300), files):
        for side, one in enumerate(sides):
            mine = [t for s, t in part if s == side]
            one.add([(rng.choice("pqrst"), at(t), rng.randrange(10**6)) for t in mine])
    return sides


def write_both(folder, seed, count=400, files=8):
    """Write the files of one source that holds both sides.

    After a kill Spark may give the next batch of one source two files. Two sources are then no
    longer in step, so rows come in another order, and what a budget loses is not the same.
    """
    rng = random.Random(seed)
    both = Files(folder / "both", f"side int, {SCHEMA}")
    for part in cut(rng, arrivals(rng, count, 300), files):
        both.add([(s, rng.choice("pqrst"), at(t), rng.randrange(10**6)) for s, t in part])


@pytest.mark.slow  # several Spark processes, one after the other
@pytest.mark.parametrize("budget", [None, 40])
def test_killed_and_started_anew(spark, tmp_path, budget):
    if budget is None:
        write(tmp_path, seed=1)
    else:
        write_both(tmp_path, seed=1)
    options = EXACT | {"budget": budget}
    driver = start_driver({"folder": str(tmp_path), "options": options}, tmp_path / "log")
    try:
        await_commits(tmp_path / "out-checkpoint", 2, driver)
    finally:
        kill(driver)
    committed = len(list((tmp_path / "out-checkpoint" / "commits").glob("[0-9]*")))
    assert committed < 8  # it was killed on its way
    streams = read(spark.readStream.option("maxFilesPerTrigger", 1), tmp_path)
    query = run(join(*streams, on="k", **options), tmp_path)
    found = results(spark, tmp_path)
    everything = bag(join(*read(spark.read, tmp_path), on="k", **EXACT))
    if budget is None:
        assert found == everything
    else:
        run(join(*streams, on="k", **options), tmp_path, "calm")
        told = metrics(query)
        batches = len(list((tmp_path / "out-checkpoint" / "commits").glob("[0-9]*")))
        assert batches < 8 or found == results(spark, tmp_path, "calm")
        assert found < everything
        assert told.rows_held <= budget
    assert metrics(query).matches == sum(found.values())


def test_another_budget_and_policy_take_effect(spark, tmp_path):
    rng = random.Random(2)
    sides = [Files(tmp_path / side, SCHEMA) for side in "ab"]

    def go_on(start, **options):
        for one in sides:
            drawn = sorted(rng.uniform(start, start + 10) for _ in range(50))
            one.add([(rng.choice("pqrst"), at(t), rng.randrange(9)) for t in drawn])
        streams = [one.stream(spark) for one in sides]
        return metrics(run(join(*streams, on="k", buckets=1, **(EXACT | options)), tmp_path))

    assert go_on(0, budget=60).rows_held == 60
    told = go_on(10, budget=20, recall_sample=1.0)
    assert told.rows_held == 20
    assert told.recall < 1
    assert told.recall_low <= told.recall <= told.recall_high
    assert go_on(20, budget=80, policy="life").rows_held == 80
    told = go_on(30, budget=None)
    assert 80 < told.rows_held <= 180
    assert told.recall_low <= told.recall <= told.recall_high < 1  # what was lost stays lost
    assert sum(told.arrived) == 400
    everything = bag(join(*[one.batch(spark) for one in sides], on="k", **EXACT))
    assert results(spark, tmp_path) < everything


def test_another_join_is_refused_and_the_checkpoint_lives_on(spark, tmp_path):
    sides = write(tmp_path, seed=3, files=2)

    def go(change=lambda frame: frame, on="k", **options):
        streams = [change(one.stream(spark)) for one in sides]
        return run(join(*streams, on=on, **(EXACT | options)), tmp_path)

    go()
    for one in sides:
        one.add([("p", at(310), 1), ("q", at(311), 2)])
    for wrong, named in [
        ({"within": "21 seconds"}, "other within: 20000000, and now 21000000"),
        ({"on": ["k", "v"]}, r"other keys: .*'v'"),
        ({"buckets": 5}, "other buckets: 2, and now 5"),
        ({"change": lambda f: f.withColumn("more", f.v)}, "other columns: .*'more: int'"),
    ]:
        with pytest.raises(StreamingQueryException) as told:
            go(**wrong)
        assert re.search(f"BadState.*{named}", str(told.value))
    go()
    everything = bag(join(*[one.batch(spark) for one in sides], on="k", **EXACT))
    assert results(spark, tmp_path) == everything
