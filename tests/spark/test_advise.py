"""Advice for frames beside advice for the same rows as arrays."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock import BadInput
from penstock.advisor import advise_join, advise_lookup
from penstock.spark import advise

pytestmark = pytest.mark.spark
POLICIES = ("fifo", "lru", "prob")
ROWS, WITHIN = 40_000, 4_000_000


def columns(side):
    random = np.random.default_rng(side)
    key = (2000 * random.random(ROWS // 2) ** 3).astype(np.int64)
    return key, 2000 * np.arange(ROWS // 2) + 1000 * side


@pytest.fixture(scope="module")
def frames(spark):
    made = []
    for side in (0, 1):
        key, micros = columns(side)
        table = pa.table({"k": key, "at": pa.array(micros).cast(pa.timestamp("us", "UTC"))})
        made.append(spark.createDataFrame(table).repartition(3))
    return made


@pytest.fixture(scope="module")
def arrays():
    (left, at_left), (right, at_right) = columns(0), columns(1)
    side = np.repeat(np.arange(2), ROWS // 2)
    return side, np.append(left, right), np.append(at_left, at_right)


def said(frames, **options):
    terms = {"on": "k", "time": "at", "within": "4 seconds", "policies": POLICIES, "target": 0.8}
    return advise(*frames, **terms | options)


def test_a_small_frame_is_replayed_as_the_arrays_are(frames, arrays):
    made = said(frames)
    local = advise_join(*arrays, WITHIN, tried=POLICIES, target=0.8)
    assert made.sampled["whole"]
    assert made.streams.rows == local.streams.rows
    assert made.streams.keys == local.streams.keys
    assert made.streams.peak == local.streams.peak
    assert made.answer == replace(local.answer, bytes=made.answer.bytes)  # rows are of other sizes
    assert "within='4 seconds'" in made.code


def test_a_sample_leads_to_about_the_same(frames, arrays):
    made = said(frames, work=15_000)
    assert made.streams.peak == pytest.approx(2 * WITHIN / 2000, rel=0.05)
    local = advise_join(*arrays, WITHIN, tried=POLICIES, target=0.8)
    assert not made.sampled["whole"]
    assert made.sampled["rows"] < 0.9 * ROWS
    for curve in made.curves:
        full = next(each for each in local.curves if each.policy == curve.policy)
        for rows in (300, 1500):
            found = curve.at(rows)
            assert found.share == pytest.approx(full.at(rows).share, abs=max(0.04, found.error))


def test_sampled_keys(frames, arrays):
    made = said(frames, within="20 seconds", work=40_000, target=0.5)
    local = advise_join(*arrays, 20_000_000, tried=POLICIES, target=0.5)
    assert made.sampled["weight"] > 1
    for curve in made.curves:
        full = next(each for each in local.curves if each.policy == curve.policy)
        assert curve.at(4000).share == pytest.approx(full.at(4000).share, abs=0.05)


def test_the_goal_of_rows(frames, arrays):
    made = said(frames, goal="rows")
    local = advise_join(*arrays, WITHIN, tried=POLICIES, target=0.8, goal="rows")
    assert made.answer == replace(local.answer, bytes=made.answer.bytes)
    assert made.hot_pairs == local.hot_pairs
    assert made.code.endswith("goal='rows')")
    with pytest.raises(BadInput, match="goal must be 'pairs' or 'rows', got 'row'"):
        said(frames, goal="row")
    with pytest.raises(BadInput, match="a cache has hits, and no rows to match"):
        advise(frames[0], on="k", time="at", goal="rows")


def test_a_cache(frames, arrays):
    made = penstock.advise(frames[0], on="k", time="at", policies=("lru", "fifo"), target=0.6)
    local = advise_lookup(columns(0)[0], tried=("lru", "fifo"), target=0.6)
    assert made.answer == local.answer
    assert made.code.startswith("lookup(events, relation, on='k'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"on": "q"}, "has no column 'q'"),
        ({"target": 0}, "target must be above 0"),
        ({"within": "1 day"}, "the window must be shorter than the data"),
        ({"time": ("at", "at", "at")}, "time must name a column, or one of each frame"),
        ({"work": 5}, "work must be a whole number of at least 10000"),
    ],
)
def test_bad_arguments(frames, change, message):
    with pytest.raises(BadInput, match=message):
        said(frames, **change)


def test_frames_that_do_not_fit(frames, spark):
    left, right = frames
    with pytest.raises(BadInput, match="must have one type, got"):
        said([left, right.selectExpr("string(k) AS k", "at")])
    with pytest.raises(BadInput, match="no key in common"):
        said([left, right.selectExpr("k + 5000 AS k", "at")])
    with pytest.raises(BadInput, match="rows with a key and a time, and one has none"):
        said([left, right.selectExpr("CAST(NULL AS BIGINT) AS k", "at")])
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS at")
    with pytest.raises(BadInput, match="advise takes a batch frame, got a stream"):
        said([stream, right])
