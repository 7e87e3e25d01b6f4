"""Late rows are those of Spark's own join, however late and disordered rows are."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from penstock.spark import join, metrics
from tests.spark.streams import WITHIN, Files, results, run
from tests.spark.test_exact import own_join

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERAS = {
    "now": datetime(2024, 3, 1, tzinfo=UTC),
    "around 1970": datetime(1969, 12, 31, 23, 59, 30, tzinfo=UTC),  # where Spark's watermark begins
}


def late_rows(rng, start, batches):
    """Draw micro-batches of (side, key, time): many rows behind, at and after the watermark."""
    for number in range(batches):
        rows = []
        for _ in range(rng.randrange(20, 60)):
            seconds = 12 * number + rng.choice([0, 0, -5, -10, -11, -20, -40]) + rng.randrange(12)
            fine = rng.choice([0, 0, 0.0004, -0.0004, 0.001])
            rows.append(
                (rng.randrange(2), rng.randrange(4), start + timedelta(seconds=seconds + fine))
            )
        yield rows


def differ(spark, folder, rng, start, stops=(), always=()):
    """Run Spark's join and ours over the same late rows, and compare them.

    Rows that come `always` are in every micro-batch.
    """
    sides = [Files(folder / name, "k int, ts timestamp, v int") for name in "ab"]
    frames = [files.stream(spark).withWatermark("ts", "10 seconds") for files in sides]
    within = f"{WITHIN} seconds"
    last = 8
    for number, rows in enumerate(late_rows(rng, start, last), 1):
        rows += always
        for side, files in enumerate(sides):
            files.add([(k, t, place) for place, (s, k, t) in enumerate(rows) if s == side])
        if number in (*stops, last):
            run(own_join(*frames, ["k"]), folder, "own")
            query = run(join(*frames, on="k", time="ts", within=within, buckets=3), folder, "ours")
    expected = results(spark, folder, "own")
    assert results(spark, folder, "ours") == expected
    assert sum(expected.values()) > 50
    return metrics(query)


@pytest.mark.parametrize("era", [pytest.param("now", marks=pytest.mark.slow), "around 1970"])
def test_the_same_late_rows_as_in_sparks_own_join(spark, tmp_path, era):
    """Spark's watermark begins with 1970: what is of that very moment is late there too."""
    at_once = [(side, key, EPOCH) for side in (0, 1) for key in range(2)]
    told = differ(spark, tmp_path, random.Random(era), ERAS[era], always=at_once)
    assert sum(told.late) > 10


@pytest.mark.slow  # two starts
def test_late_rows_across_a_restart(spark, tmp_path):
    told = differ(spark, tmp_path, random.Random(5), ERAS["now"], stops=(3, 4))
    assert sum(told.late) > 10


@pytest.mark.slow
def test_a_row_of_the_year_9999(spark, tmp_path):
    """It moves the watermark so far that all that comes later is late, as it does in Spark."""
    rng = random.Random(2)
    sides = [Files(tmp_path / name, "k int, ts timestamp, v int") for name in "ab"]
    for number, rows in enumerate(late_rows(rng, ERAS["now"], 6)):
        if number == 2:
            rows += [(side, 0, datetime(9999, 12, 31, tzinfo=UTC)) for side in (0, 1)]
        for side, files in enumerate(sides):
            files.add([(k, t, place) for place, (s, k, t) in enumerate(rows) if s == side])
    frames = [files.stream(spark).withWatermark("ts", "10 seconds") for files in sides]
    run(own_join(*frames, ["k"]), tmp_path, "own")
    run(join(*frames, on="k", time="ts", within=f"{WITHIN} seconds", buckets=2), tmp_path, "ours")
    assert results(spark, tmp_path, "ours") == results(spark, tmp_path, "own")


def test_rows_expire_without_new_ones(spark, tmp_path):
    sides = [Files(tmp_path / name, "k int, ts timestamp, v int") for name in "ab"]
    for number in range(2):
        for files in sides:
            time = ERAS["now"] + timedelta(seconds=300 * number)
            files.add([(k, time, k) for k in range(20)])
    frames = [files.stream(spark).withWatermark("ts", "0 seconds") for files in sides]
    out = join(*frames, on="k", time="ts", within="10 seconds", buckets=2)
    query = run(out, tmp_path, "ours")
    told = metrics(query)
    assert told.matches == 40
    assert told.rows_held == 40  # the last micro-batch had no rows, and let the others expire
    assert told.expired == (20, 20)
