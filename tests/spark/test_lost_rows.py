"""Rows that lost all of their partners: exact where all rows are watched, right on average else."""

import numpy as np
import pytest

from penstock.spark.recall.lost_rows import LostRows
from penstock.spark.recall.watched import Arrived
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.naive.lost_rows import lost_rows
from tests.spark.plans import cuts, drawn, make_plan, packets, rows_of, take


class Watch:
    """A bucket with a budget, and all that a person could know of its rows."""

    def __init__(self, **options):
        self.plan = make_plan(**options)
        self.state = None
        self.rows, self.matched = [], set()

    def take(self, side, key, time, value):
        """Take a micro-batch; return the lost rows per side: the truth, and the estimate."""
        self.bucket = bucket = JoinBucket(self.plan, 0, self.state)
        watermark = bucket.join.watermark
        kept = np.ones(len(side), bool) if watermark is None else time >= watermark
        columns = (each[kept].tolist() for each in (side, key, time, value))
        self.rows += list(zip(*columns, strict=True))
        outcome = take(bucket, packets(side, key, time, value))
        self.state = outcome.state or self.state
        for _, _, left, right in rows_of(outcome):
            self.matched |= {(0, left), (1, right)}
        told = [sums["certain"] + sums["lost"] for sums in bucket.watch.row_sums()]
        return lost_rows(self.rows, self.matched, self.plan.within), told


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("within", [60, 5, None])
@pytest.mark.parametrize("delay", [0, 30, 200])
def test_with_all_rows_watched_the_lost_ones_are_known(delay, within, seed):
    rng = np.random.default_rng(seed)
    policy = ("clock", "prob", "rand")[seed % 3]
    watch = Watch(budget=2, sample=1.0, delay=delay, within=within, policy=policy, seed=seed)
    for batch in cuts(rng, drawn(rng, 400, delay=delay), 5):
        truth, told = watch.take(*batch)
        assert told == truth
    assert sum(truth) > 0


@pytest.mark.slow
def test_a_sample_is_right_on_average():
    errors, size = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        watch = Watch(budget=8, sample=0.2, delay=seed % 2 * 30, within=60, seed=seed)
        for batch in cuts(rng, drawn(rng, 300, delay=30), 3):
            truth, told = watch.take(*batch)
        errors.append(np.subtract(told, truth))
        size.append(truth)
    off = np.mean(errors, axis=0) / (np.std(errors, axis=0) / np.sqrt(len(errors)))
    assert (np.abs(off) < 4).all()
    assert (np.mean(size, axis=0) > 10).all()


def arrived(side, key, time, first=0):
    columns = (np.asarray(column, np.int64) for column in (side, key, time))
    return Arrived(*columns, np.arange(first, first + len(side)))


def matched(*rows):
    return lambda numbers: np.isin(numbers, rows)


def lost(watch):
    return [sums["certain"] for sums in watch.sums()]


def test_a_follower_belongs_to_the_latest_earlier_partner_only():
    # Left 0 and 1, then right 2: lost, with two earlier partners. Counted once.
    watch = LostRows(np.array([1, 0]), 10)
    watch.take(arrived([0, 0, 1], [7, 7, 7], [0, 1, 2]), np.arange(3), np.ones(3))
    watch.close(matched(), None)
    assert lost(watch) == [2, 1]
    watch.renumber(np.array([2]), np.array([0]))  # both rows of the left side were evicted
    # A later partner that the join finds: the row was not lost after all.
    watch.take(arrived([0], [7], [3], first=1), np.arange(1), np.ones(1))
    watch.close(matched(0, 1), None)
    assert lost(watch) == [2, 0]


def test_rows_of_hot_keys_are_closed_at_once():
    rng = np.random.default_rng(0)
    watch = LostRows(np.array([1, 0]), 10_000)
    for start in range(0, 50_000, 5000):
        times = np.arange(start, start + 5000)
        rows = arrived(rng.integers(0, 2, 5000), np.zeros(5000), times, first=start)
        watch.take(rows, np.arange(5000), np.ones(5000))
        watch.close(lambda numbers: np.ones(len(numbers), bool), start)
    assert len(watch.units.group) < 50
    assert len(watch.followers.key) == 0
