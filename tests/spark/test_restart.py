"""Stopped by force and started anew: every row once. Started as another join: refused."""

import random
import re

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from penstock import BadState
from penstock.spark import join, metrics
from penstock.spark.runtime.store import Stored, encode
from tests.spark.driver import SCHEMA, read
from tests.spark.processes import commits, run_and_kill
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
    run_and_kill(tmp_path, {"options": options})
    streams = read(spark.readStream.option("maxFilesPerTrigger", 1), tmp_path)
    query = run(join(*streams, on="k", **options), tmp_path)
    found = results(spark, tmp_path)
    everything = bag(join(*read(spark.read, tmp_path), on="k", **EXACT))
    if budget is None:
        assert found == everything
    else:
        run(join(*streams, on="k", **options), tmp_path, "calm")
        told = metrics(query)
        batches = commits(tmp_path / "out-checkpoint")
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


@pytest.mark.slow
def test_a_budget_that_counts_otherwise(spark, tmp_path):
    rng = random.Random(5)
    sides = [Files(tmp_path / side, SCHEMA) for side in "ab"]

    def go_on(start, budget):
        for one in sides:
            drawn = sorted(rng.uniform(start, start + 10) for _ in range(50))
            one.add([(rng.choice("pqrst"), at(t), rng.randrange(9)) for t in drawn])
        streams = [one.stream(spark) for one in sides]
        joined = join(*streams, on="k", policy="clock", budget=budget, **EXACT)
        return metrics(run(joined, tmp_path))

    assert 20 < go_on(0, 60).rows_held <= 60
    assert 9000 < go_on(10, "14 kB").bytes_held <= 14 * 1024
    assert go_on(20, None).rows_held > 60
    assert 9000 < go_on(30, "13 kB").bytes_held <= 13 * 1024
    told = go_on(40, 15)
    assert 5 < told.rows_held <= 15
    assert sum(told.arrived) == 500
    found = results(spark, tmp_path)
    assert found < bag(join(*[one.batch(spark) for one in sides], on="k", **EXACT))
    assert told.matches == sum(found.values())


@pytest.mark.slow
def test_what_spark_describes_otherwise_after_a_restart(spark, tmp_path):
    sides = [Files(tmp_path / s, "k string, ts timestamp, p timestamp, n int") for s in "ab"]
    pair = F.struct("n", F.array("p").alias("list")).alias("pair")
    never = F.coalesce("n", F.lit(0))
    strict = F.struct(never.alias("n"), F.array(F.coalesce("p", "ts")).alias("list")).alias("pair")

    def go(start, *columns):
        for one in sides:
            one.add([(k, at(start + 1), at(start), None) for k in "pqrs"])
        streams = [one.stream(spark).select(*columns) for one in sides]
        run(join(*streams, on="k", **EXACT), tmp_path)

    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        go(0, "k", "ts", "p", F.col("n"), pair)
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        go(5, "k", "ts", "p", F.col("n"), pair)
        go(10, "k", F.coalesce("ts", "ts").alias("ts"), "p", never.alias("n"), strict)
        spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
        go(15, "ts", "k", "p", F.col("n"), pair)  # and in another order
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    found = spark.read.parquet(str(tmp_path / "out"))
    assert found.count() == 4 * 16
    assert found.where("n_left is null").count() == 4 * 12
    assert found.where("pair_left.n is null").count() == 4 * 12
    assert found.where("p_left = ts_left - interval 1 second").count() == 4 * 16
    assert found.where("pair_right.list[0] = p_right").count() == 4 * 16


@pytest.mark.slow  # five queries
def test_another_join_is_refused_and_the_checkpoint_lives_on(spark, tmp_path):
    sides = write(tmp_path, seed=3, files=2)

    def go(change=lambda frame: frame, on="k", **options):
        streams = [change(one.stream(spark)) for one in sides]
        return run(join(*streams, on=on, **(EXACT | options)), tmp_path)

    go()
    for one in sides:
        one.add([("p", at(310), 1), ("q", at(311), 2)])
    for wrong, named in [
        ({"on": ["k", "v"]}, "with on='k', and now with on=.'k', 'v'."),
        ({"buckets": 5}, "with buckets=2, and now with buckets=5"),
        ({"change": lambda f: f.withColumn("more", f.v)}, "left frame had no column 'more'"),
        ({"within": "21 seconds"}, "with within='20 seconds', and now with within='21 seconds'"),
    ]:
        with pytest.raises(BadState, match=named):  # on the driver, before the query starts
            go(**wrong, checkpoint=tmp_path / "out-checkpoint")
    with pytest.raises(StreamingQueryException) as told:  # by the first micro-batch
        go(**wrong)
    assert re.search(f"BadState: the checkpoint was written by a join {named}", str(told.value))
    go(checkpoint=str(tmp_path / "out-checkpoint"))
    everything = bag(join(*[one.batch(spark) for one in sides], on="k", **EXACT))
    assert results(spark, tmp_path) == everything


def test_a_checkpoint_of_an_earlier_format_is_refused(spark, tmp_path):
    """Earlier, state was kept by applyInPandasWithState."""
    sides = write(tmp_path, seed=4, count=40, files=1)

    def earlier(key, frames, state):
        state.update((1,))
        yield from frames

    old = sides[0].stream(spark).groupBy("k")
    run(old.applyInPandasWithState(earlier, SCHEMA, "n int", "append", "NoTimeout"), tmp_path)
    streams = [side.stream(spark) for side in sides]
    with pytest.raises(BadState, match="written by Penstock before its state had format 2; res"):
        join(*streams, on="k", checkpoint=tmp_path / "out-checkpoint", **EXACT)


def test_a_checkpoint_of_format_2_is_refused(spark, tmp_path):
    """Its version was a value of its own; the pieces of the base were numbered from 0."""
    sides = write(tmp_path, seed=4, count=40, files=1)
    blob = encode(Stored({}, {}, [], {}))

    class Earlier(StatefulProcessor):
        def init(self, handle):
            self.version = handle.getValueState("version", "said binary")
            self.base = handle.getMapState("base", "number long", "chunk binary")
            self.log = handle.getMapState("log", "number long", "piece binary")

        def handleInputRows(self, key, rows, timerValues):
            self.base.updateValue((0,), (blob,))
            self.version.update((b'PENSTOCK{"format": 2}',))
            yield from rows

        def close(self):
            pass

    old = sides[0].stream(spark).groupBy("k")
    run(old.transformWithStateInPandas(Earlier(), SCHEMA, "append", "None"), tmp_path)
    streams = [side.stream(spark) for side in sides]
    with pytest.raises(BadState, match="has state of format 2, this Penstock reads format 4"):
        join(*streams, on="k", checkpoint=tmp_path / "out-checkpoint", **EXACT)
