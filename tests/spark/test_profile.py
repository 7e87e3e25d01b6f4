"""Profiles of frames, beside those of the same rows as arrays."""

import datetime
import json
import sys

import numpy as np
import pyarrow as pa
import pytest

from penstock import BadInput
from penstock.errors import BadState
from penstock.profile.stream_profile import profile as of_arrays
from penstock.report.profile_page import as_html
from penstock.spark import ProfileStream, profile, saved_profile
from tests.marks import some
from tests.profile.streams import local
from tests.spark.processes import figures, kill, start
from tests.spark.streams import Files

pytestmark = pytest.mark.spark

streams = sys.modules[profile.__module__]  # the package has a function of that name

ROWS = 10_000  # the smallest sample
LENGTH = 60_000
SIZES = np.array([1, 10, 100, 500, 1500])
GAPS = np.array([1, 10, 100, 1000, 10_000])


@pytest.fixture(scope="module")
def keys():
    return local(LENGTH)


@pytest.fixture(scope="module")
def true(keys):
    return of_arrays(keys, moments(LENGTH))


def frame_of(spark, keys, times, parts=5):
    """Return the rows as a frame, in no order."""
    order = np.random.default_rng(1).permutation(len(keys))
    names = [f"key {key}" for key in keys[order].tolist()]
    table = pa.table({"who": names, "at": pa.array(times[order])})
    return spark.createDataFrame(table).repartition(parts)


def moments(number):
    return np.datetime64("2024-03-01", "us") + 1000 * np.arange(number)


def assert_within_errors(found, true):
    """Compare with the truth; a curve may leave its 95 % interval by as much again."""
    assert found.length == true.length
    for value, truth, error in (
        (found.reuse.hit_ratio(SIZES), true.reuse.hit_ratio(SIZES), found.reuse.error(SIZES)),
        (found.distances.within(GAPS), true.distances.within(GAPS), found.distances.error(GAPS)),
    ):
        assert (np.abs(value - truth) <= 2 * error + 1e-3).all()
        assert 0 < error.max() < 0.1
    off = found.sampling
    assert found.likelihood.h == true.likelihood.h
    assert found.likelihood.b == pytest.approx(true.likelihood.b, abs=2 * off.b_error)
    assert found.entropy.stream == pytest.approx(true.entropy.stream, abs=2 * off.entropy_error)
    assert found.permuted.within(GAPS) == pytest.approx(true.permuted.within(GAPS), abs=0.01)


def test_a_frame_larger_than_the_sample(spark, keys, true):
    found = profile(frame_of(spark, keys, moments(LENGTH)), "who", "at", rows=ROWS, name="calls")
    assert found.sampling is not None
    assert 0.1 < found.sampling.rate < 0.2
    assert_within_errors(found, true)
    # What is counted, not sampled, is equal.
    assert (found.keys, found.name) == (true.keys, "calls")
    assert found.popularity.exponent == pytest.approx(true.popularity.exponent)
    assert found.entropy.popularity == pytest.approx(true.entropy.popularity)
    assert found.bursts.scales[0] == pytest.approx(true.bursts.scales[0])
    assert as_html(found).count('class="chart"') == 5
    json.dumps(found.to_json(), allow_nan=False)


def test_a_frame_that_fits_is_profiled_exactly(spark, keys):
    some = keys[:9000]
    true = of_arrays(some, np.arange(9000))
    found = profile(frame_of(spark, some, np.arange(9000)), "who", "at", rows=ROWS)
    assert found.sampling is None
    assert (found.reuse.part == true.reuse.part).all()
    assert (found.distances.part == true.distances.part).all()
    assert found.likelihood.b == pytest.approx(true.likelihood.b, abs=1e-3)
    assert found.bursts.rate == pytest.approx(true.bursts.rate)


@pytest.mark.parametrize(
    "kind",
    some(["timestamp", "timestamp_ntz", "date", "int", "double", "decimal(20,3)"], ["date", "int"]),
)
def test_times_of_any_kind(spark, kind):
    frame = spark.range(3000).selectExpr("id", "id % 7 as a", "id % 3 as b")
    day = "date_add(date'2024-03-01', cast(id as int))"
    number = "cast(id as int)" if kind == "int" else "id / 2"
    time = day if kind in ("timestamp", "timestamp_ntz", "date") else number
    found = profile(frame.selectExpr("*", f"cast({time} as {kind}) as at"), ["a", "b"], "at")
    assert (found.keys, found.length) == (21, 3000)
    assert found.distances.median == 21
    steps = {"int": 1, "double": 0.5, "decimal(20,3)": 0.5}
    assert found.bursts.span == 2999 * steps.get(kind, 86_400)
    assert found.bursts.seconds == (kind not in steps)


@pytest.mark.parametrize("rows", some([10_000, 100_000], [10_000]))
def test_rows_of_equal_times_stay_in_order(spark, rows):
    # A loop over 50 keys, read from one file: any other order would break it.
    frame = spark.range(0, 50_000, 1, 1).selectExpr("id % 50 as key", "id div 1000 as at")
    found = profile(frame, "key", "at", rows=rows)
    assert found.distances.median == 50
    assert found.reuse.hit_ratio([49, 50]) == pytest.approx([0, 1], abs=0.002)


def test_a_key_that_makes_up_most_of_the_stream(spark):
    draw = np.random.default_rng(3)
    keys = np.where(draw.random(LENGTH) < 0.6, 0, draw.integers(0, 5000, LENGTH))
    true = of_arrays(keys, np.arange(LENGTH))
    for seed in range(2):
        found = profile(frame_of(spark, keys, np.arange(LENGTH)), "who", "at", rows=ROWS, seed=seed)
        assert_within_errors(found, true)


def test_rows_without_key_or_time_are_left_out_and_counted(spark):
    rows = [(1, 1), (None, 2), (2, 3), (1, None), (None, None), (2, 6), (1, 7)]
    found = profile(spark.createDataFrame(rows, "key long, at long"), "key", "at")
    assert (found.length, found.skipped) == (4, 3)
    assert found.to_json()["skipped"] == 3


# ---------------------------------------------------------------- streams


def write(folder, keys, files):
    """Write rows into so many files, in order."""
    source = Files(folder / "in", "who string, at timestamp")
    add(source, keys, 0, files)
    return source


def add(source, keys, first, files):
    start = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    for places in np.array_split(np.arange(first, first + len(keys)), files):
        source.add(
            [
                (f"key {keys[p - first]}", start + datetime.timedelta(milliseconds=int(p)))
                for p in places
            ]
        )


def run(spark, source, folder, **options) -> ProfileStream:
    options = {"checkpoint": str(folder / "state"), "rows": ROWS} | options
    made = profile(source.stream(spark), "who", "at", trigger={"availableNow": True}, **options)
    made.query.awaitTermination()
    return made


@pytest.mark.slow
def test_a_stream_is_profiled_and_goes_on_after_a_restart(spark, tmp_path, keys, true, monkeypatch):
    source = write(tmp_path, keys[:9000], files=2)
    first = run(spark, source, tmp_path).report()
    assert (first.length, first.sampling) == (9000, None)  # all of it is held
    # One batch after the restart is so large that it is sorted by Spark.
    monkeypatch.setattr(streams, "COLLECTED", 15_000)
    add(source, keys[9000:30_000], 9000, files=1)
    add(source, keys[30_000:], 30_000, files=3)
    made = run(spark, source, tmp_path, name="calls")
    found = made.report()
    assert_within_errors(found, true)
    assert found.keys == pytest.approx(true.keys, abs=2 * found.sampling.keys_error + 1)
    assert found.name == "calls"
    other = saved_profile(spark, made.checkpoint)
    assert other.to_json() == found.to_json() | {"name": "stream"}


@pytest.mark.slow
def test_a_batch_that_comes_twice_counts_once(spark, tmp_path, keys):
    source = write(tmp_path, keys[:6000], files=3)
    before = run(spark, source, tmp_path).report()
    # As if the query had been killed after the profile was written and before Spark had noted it.
    commits = tmp_path / "state" / "query" / "commits"
    for path in (commits / "2", commits / ".2.crc"):
        path.unlink(missing_ok=True)
    add(source, keys[6000:8000], 6000, files=1)
    after = run(spark, source, tmp_path).report()
    assert (before.length, after.length) == (6000, 8000)
    assert (after.reuse.part == of_arrays(keys[:8000]).reuse.part).all()


def test_a_stream_with_gaps_and_nothing_in_it(spark, tmp_path):
    source = Files(tmp_path / "in", "who string, at timestamp")
    source.add([(None, datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC))])
    made = run(spark, source, tmp_path)
    with pytest.raises(BadInput, match="no row with a key and a time has come"):
        made.report()
    add(source, np.arange(20) % 3, 0, files=1)
    found = run(spark, source, tmp_path).report(h=2)
    assert (found.length, found.skipped, found.likelihood.h) == (20, 1, 2)


def test_a_folder_of_another_profile_is_refused(spark, tmp_path, keys):
    source = write(tmp_path, keys[:100], files=1)
    run(spark, source, tmp_path)
    add(source, keys[100:200], 100, files=1)
    made = profile(
        source.stream(spark), "who", "at", rows=20_000, checkpoint=str(tmp_path / "state")
    )
    with pytest.raises(Exception, match="choose another checkpoint folder"):
        made.query.processAllAvailable()
    with pytest.raises(Exception, match="choose another checkpoint folder"):
        made.report()


def test_files_that_were_removed_are_noticed(tmp_path, spark):
    took = streams._Accumulator({"rows": ROWS, "seed": 0}, str(tmp_path))
    with pytest.raises(BadState, match="ends with batch -1, but batch 3 comes next"):
        took(spark.range(1), 3)


@pytest.mark.slow
def test_over_spark_connect(spark, tmp_path, keys):
    """In a process of its own: one process has one kind of session."""
    write(tmp_path, keys[:30_000], files=3)
    given = json.dumps({"folder": str(tmp_path), "rows": ROWS})
    log = tmp_path / "log"
    driver = start([sys.executable, "-m", "tests.spark.profile_driver", given], log)
    try:
        told = figures(driver, log)
    finally:
        kill(driver)
    true = of_arrays(keys[:30_000])
    for kind in ("batch", "stream"):
        report = told[kind]
        assert report["tuples"] == 30_000
        assert report["keys"] == pytest.approx(true.keys, abs=2 * report["sample"]["keys_error"])
        assert report["locality"]["likelihood"]["b"] == pytest.approx(true.likelihood.b, abs=0.03)
        hits, off = report["lru"]["hit_ratio"], np.array(report["sample"]["hit_ratio_error"])
        truth = true.reuse.hit_ratio(report["lru"]["size"])
        assert (np.abs(hits - truth) <= 2 * off + 2e-3).mean() > 0.9


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select 1 as key, 1 as at where false", "at least one row with a key and a time, got no"),
        ("select cast(null as int) as key, 1 as at", "got 1 rows that lack one"),
        ("select 7 as key, id as at from range(50)", "got one and the same key in all 50 rows"),
        ("select id as key, 1 as at from range(1)", "at least two values"),
        ("select id as kee, id as at from range(9)", "has no column 'key'; did you mean 'kee'?"),
        ("select id as key, id as when from range(9)", "has no column 'at'; it has key, when"),
        ("select id as key, 'x' as at from range(9)", "must hold timestamps, dates or numbers"),
        ("select map(1, id) as key, id as at from range(9)", "has no equality in Spark"),
    ],
)
def test_one_sentence(spark, sql, said):
    with pytest.raises(BadInput) as refusal:
        profile(spark.sql(sql), "key", "at")
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_options_out_of_range(spark):
    frame = spark.range(20).selectExpr("id % 3 as key", "id as at")
    for options, said in (
        ({"h": 0}, "h must be a whole number of at least 1, got 0"),
        ({"h": 20}, "h must be below the length of the stream, 20 rows, got 20"),
        ({"rows": 10}, "rows must be a whole number of at least 10000, got 10"),
        ({"checkpoint": "/tmp/x"}, "checkpoint and trigger are for streaming frames"),
    ):
        with pytest.raises(BadInput, match=said):
            profile(frame, "key", "at", **options)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(BadInput, match="needs a folder for the profile so far; pass checkpoint="):
        profile(stream, "value", "timestamp")
