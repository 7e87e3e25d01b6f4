"""The goal of a join on Spark: what is kept follows it, what is correct does not."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.spark import join, metrics
from tests.spark.plans import (
    Engine,
    Run,
    cuts,
    drawn,
    make_plan,
    rows_of,
    taken_as_by_the_engine,
)
from tests.spark.plans import told as figures_of
from tests.spark.streams import Files, at, run


@pytest.mark.parametrize("policy", ["fifo", "prob"])
def test_a_bucket_gives_what_the_local_engine_gives_whatever_is_stored_between(policy):
    columns = drawn(np.random.default_rng(1), 1500, skew=0.3, delay=20)
    plan = make_plan(budget=30, goal="rows", policy=policy, delay=20)
    bucket, engine = taken_as_by_the_engine(plan, columns, 100)
    for name, counts in engine.join.counters.items():
        assert bucket.join.counters[name].tolist() == counts.tolist(), name


def test_rows_matched_are_the_rows_in_results_each_counted_once():
    rng = np.random.default_rng(2)
    part = Run(make_plan(budget=20, goal="rows", policy="prob", sample=0.5))
    seen = [set(), set()]
    for batch in cuts(rng, drawn(rng, 1000, skew=0.4), 5):
        outcome = part.take(*batch)
        for _, _, *values in rows_of(outcome):
            for side, value in enumerate(values):
                seen[side].add(value)
        told = figures_of(outcome.totals)
        assert told.rows_matched == tuple(map(len, seen))
        for side in (0, 1):
            assert told.row_recall_low[side] <= told.row_recall[side] <= told.row_recall_high[side]
    assert min(told.rows_matched) > 50


def test_a_restart_may_change_the_goal():
    rng = np.random.default_rng(3)
    plan = make_plan(budget=25, policy="prob", sample=1.0)
    part, exact = Run(plan), Engine(replace(plan, budget=None))
    found, everything = Counter(), Counter()
    for number, batch in enumerate(cuts(rng, drawn(rng, 2000, skew=0.4), 6)):
        part.plan = replace(plan, goal=("pairs", "rows")[number % 2])
        outcome = part.take(*batch)
        found += rows_of(outcome)
        everything += exact.take(*batch)
    assert not found - everything
    told = figures_of(outcome.totals)
    truth = exact.join.counters["rows_matched"]
    for side in (0, 1):  # all rows are watched, so that the figures are exact
        assert told.row_recall[side] == pytest.approx(told.rows_matched[side] / truth[side])


def test_what_was_lost_before_is_known_when_watching_begins_with_a_budget():
    rng = np.random.default_rng(4)
    plan = make_plan(budget=15, policy="fifo", sample=1.0)
    part, exact = Run(plan), Engine(replace(plan, budget=None))
    for number, batch in enumerate(cuts(rng, drawn(rng, 2500, skew=0.2), 5)):
        part.plan = replace(plan, budget=(None, 15, None, 15, 15)[number])
        outcome = part.take(*batch)
        exact.take(*batch)
        told = figures_of(outcome.totals)
        truth = exact.join.counters["rows_matched"]
        for side in (0, 1):
            assert told.row_recall[side] == pytest.approx(told.rows_matched[side] / truth[side])
    assert max(told.row_recall) < 1


def test_a_note_says_where_hot_keys_make_most_of_the_pairs():
    rng = np.random.default_rng(5)
    columns = drawn(rng, 3000, keys=400, skew=0.5)
    part = Run(make_plan(budget=60, policy="prob", sample=1.0))
    outcome = part.take(*columns)
    told = figures_of(outcome.totals, hottest=[outcome.hottest])
    assert told.hot_pairs > 0.5
    assert "goal='rows'" in told.note
    assert f"{told.hot_pairs:.0%}" in told.note
    other = Run(make_plan(budget=60, policy="prob", sample=1.0, goal="rows")).take(*columns)
    better = figures_of(other.totals, goal="rows", hottest=[other.hottest])
    assert min(better.row_recall) > max(told.row_recall)
    assert not better.note


@pytest.mark.slow
@pytest.mark.spark
def test_the_goal_on_spark(spark, tmp_path):
    rng = np.random.default_rng(6)
    sides = [Files(tmp_path / side, "k long, ts timestamp, v long") for side in "ab"]
    for batch in range(3):
        for files in sides:
            key = np.where(rng.random(150) < 0.4, 0, rng.integers(0, 200, 150))
            second = batch * 30 + np.sort(rng.random(150)) * 30
            rows = zip(key.tolist(), map(at, second.tolist()), range(150), strict=True)
            files.add([(k, t, 150 * batch + v) for k, t, v in rows])
    window = {"time": "ts", "within": "40 seconds", "delay": "1 second"}
    found = {}
    for goal in ("pairs", "rows"):
        frames = [files.stream(spark) for files in sides]
        out = join(*frames, "k", budget=40, policy="prob", goal=goal, buckets=2, **window)
        told = metrics(run(out, tmp_path, goal))
        results = spark.read.parquet(str(tmp_path / goal))
        for side, column in enumerate(("v_left", "v_right")):
            assert told.rows_matched[side] == results.select(column).distinct().count()
        found[goal] = sum(told.rows_matched)
    assert found["rows"] > found["pairs"]


@pytest.mark.spark
def test_an_unknown_goal_is_refused(spark):
    frame = spark.sql("select 1L as k, timestamp '2024-01-01' as ts")
    with pytest.raises(BadInput, match=r"goal must be .*got 'row'"):
        join(frame, frame, "k", time="ts", within="1 second", goal="row")
