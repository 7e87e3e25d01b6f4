"""Several joins in one operator under one budget."""

import random

import numpy as np
import pytest

from penstock.spark import join, join_group, metrics
from tests.spark.plans import Engine, Run, cuts, drawn, make_plan, rows_of
from tests.spark.streams import Files, arrivals, at, bag, cut, results, run

JOINS = (((0, 0), (1, 0)), ((2, 0), (3, 0)))
TIMES = {"within": "20 seconds", "delay": "10 seconds"}


@pytest.mark.parametrize("budget", [None, 40])
def test_a_group_is_the_local_engine(budget):
    rng = np.random.default_rng(0)
    plan = make_plan(joins=JOINS, inputs=4, budget=budget, sample=1.0 if budget else 0.0)
    run_, engine = Run(plan), Engine(plan)
    for batch in cuts(rng, drawn(rng, 2000, sides=4), 5):
        outcome = run_.take(*batch)
        assert rows_of(outcome) == engine.take(*batch)
        assert budget is None or outcome.totals["held"] <= budget
    if budget:
        assert outcome.totals["watch_certain"] > 0


@pytest.mark.slow
@pytest.mark.spark
def test_two_joins_on_spark(spark, tmp_path):
    rng = random.Random(1)
    schemas = {
        "a": "k int, ts timestamp, v int",
        "b": "k int, ts timestamp, w array<string>",
        "c": "x int, y string, ts timestamp, v int",
        "d": "x int, y string, at timestamp, v decimal(9,2)",
    }
    files = {name: Files(tmp_path / name, schema) for name, schema in schemas.items()}
    for part in cut(rng, arrivals(rng, 300, 150), 3):
        rows = {name: [] for name in files}
        for _, time in part:
            name = rng.choice("abcd")
            key = (rng.randrange(4),) if name in "ab" else (rng.randrange(2), rng.choice("pq"))
            value = ["z", None] if name == "b" else rng.randrange(99)
            rows[name].append((*key, at(time), value))
        for name, one in files.items():
            one.add(rows[name])

    def group(kind, **options):
        a, b, c, d = (getattr(one, kind)(spark) for one in files.values())
        joins = {"clicks": (a, b, "k"), "bids": (c, d, ["x", "y"])}
        times = {"clicks": "ts", "bids": ("ts", "at")}
        return join_group(joins, time=times, **TIMES, **options)

    a, b, c, d = (one.batch(spark) for one in files.values())
    clicks = bag(join(a, b, on="k", time="ts", **TIMES))
    bids = bag(join(c, d, on=["x", "y"], time=("ts", "at"), **TIMES))
    for out in (group("batch"), _read(spark, run(group("stream"), tmp_path), tmp_path)):
        assert out.columns == ["join", "clicks", "bids"]
        assert bag(out.where("join = 'clicks'").select("clicks.*")) == clicks
        assert bag(out.where("join = 'bids'").select("bids.*")) == bids
        assert out.where("(clicks is null) = (bids is null)").count() == 0
    query = run(group("stream", budget=20, policy="clock"), tmp_path, "small")
    told = metrics(query)
    assert told.rows_held <= 20
    assert len(told.arrived) == 4
    found = results(spark, tmp_path, "small")
    assert found < results(spark, tmp_path)
    assert told.matches == sum(found.values()) > 0


def _read(spark, query, folder):
    return spark.read.parquet(str(folder / "out"))
