"""Samples and replays beside their plain-Python twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.advisor.draw import (
    WHOLE,
    KeyTable,
    Limits,
    Split,
    choose_stretches,
    split_keys,
    thinned,
    weights_of,
)
from penstock.advisor.replay import replay_join
from penstock.advisor.sample import (
    draw_join,
    join_sample,
    live_by_bins,
    live_rows,
    may_be_kept,
)
from penstock.engine import Join
from penstock.simulate.optimum import exact_results, first_matches
from tests.marks import some
from tests.naive import advisor as naive

ROW = st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 3))


def streams(drawn):
    """Return columns from (side, key, gap); a key's weight is 1 or 3."""
    side, key, gap = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    return side.astype(np.int8), key, np.cumsum(gap), np.where(key % 2, 3.0, 1.0)


def in_order(drawn):
    """Return columns of side, key, time and weight in (time, side) order, and the same as rows."""
    side, key, time, weight = streams(drawn)
    order = np.lexsort((side, time))
    columns = [each[order] for each in (side, key, time, weight)]
    return columns, list(zip(*(each.tolist() for each in columns), strict=True))


@given(st.lists(ROW, min_size=1, max_size=60), st.integers(0, 9))
def test_live_rows_are_those_of_the_twin(drawn, within):
    _, _, time, _ = streams(drawn)
    assert live_rows(time, within) == pytest.approx(
        naive.live(time.tolist(), within, [1.0] * len(time))
    )


def test_bins_tell_about_the_same():
    random = np.random.default_rng(1)
    time = np.sort(random.integers(0, 100_000, 20_000))
    exact = live_rows(time, 8000)
    binned = live_by_bins(np.bincount(time // 1000), 1000, 8000)
    assert binned.mean == pytest.approx(exact.mean, rel=0.05)
    assert binned.peak == pytest.approx(exact.peak, rel=0.1)


@given(st.lists(ROW, min_size=1, max_size=60), st.integers(0, 9), st.integers(1, 12))
def test_a_weighted_replay_is_that_of_the_twin(drawn, within, budget):
    columns, rows = in_order(drawn)
    split = Split(np.zeros(5, bool), 3, np.ones(5), Limits(0.01), 1.0)
    cold = np.zeros(len(rows), bool)  # a row stands for as many rows of other keys
    sample = join_sample(*columns, cold, within, WHOLE, split)
    full = naive.matches(rows, within)
    assert sample.exact.sum() == full
    if full:
        found = naive.weighted_fifo(rows, within, budget)
        said = replay_join(sample, "fifo", budget)
        assert said.share == pytest.approx(found / full)
        weights = [row[3] for row in rows]
        rows_full = naive.rows_matched(rows, within, weights)
        assert sample.matchable.sum() == rows_full
        found = naive.rows_matched(rows, within, weights, budget)
        assert said.beside.share == pytest.approx(found / rows_full)


@given(st.lists(ROW, min_size=1, max_size=60), st.integers(0, 9), st.integers(2, 20))
def test_a_replay_with_crowded_keys_is_that_of_the_twin(drawn, within, budget):
    (side, key, time, _), rows = in_order(drawn)
    hot, ones = np.ones(len(rows), bool), np.ones(len(rows))
    split = Split(np.ones(5, bool), 1, np.ones(5), Limits(0.01, crowd=2), 1.0)
    sample = join_sample(side, key, time, ones, hot, within, WHOLE, split)
    stands = dict(zip(key.tolist(), sample.weight.tolist(), strict=True))
    kept = naive.every_nth(rows, stands)
    assert np.flatnonzero(sample.kept).tolist() == kept
    barred = set(range(len(rows))) - set(kept)
    weighted = [(*row[:3], stands[row[1]]) for row in rows]
    full = naive.matches(weighted, within, barred)
    assert sample.exact.sum() == pytest.approx(full)
    if full:
        found = naive.weighted_fifo(weighted, within, budget, barred)
        said = replay_join(sample, "fifo", budget)
        assert said.share == pytest.approx(found / full)
        rows_full = naive.rows_matched(weighted, within, ones, barred=barred)
        assert sample.matchable.sum() == pytest.approx(rows_full)
        found = naive.rows_matched(weighted, within, ones, budget, barred)
        assert said.beside.share == pytest.approx(found / rows_full)


@given(st.lists(ROW, min_size=1, max_size=60), st.integers(0, 9), st.sets(st.integers(0, 59)))
def test_pairs_are_those_of_the_twin(drawn, within, barred):
    (side, key, time, _), rows = in_order(drawn)
    kept = np.array([place not in barred for place in range(len(rows))])
    expected = [naive.partners(rows, place, within, barred) for place in range(len(rows))]
    assert exact_results(side, key, time, time + within, kept=kept)[0].tolist() == expected


def test_of_a_crowd_about_so_many_are_live():
    side, key, time = skewed(rows=20_000, keys=50)
    kept, stands = may_be_kept(side, time, key, 5000, crowd=40)
    mine = kept & (key == 0) & (time >= 10_000) & (time < 15_000)
    assert 30 <= mine.sum() <= 50
    assert stands[key == 0][0] * kept[key == 0].sum() == pytest.approx((key == 0).sum(), rel=0.05)
    assert (stands[key == 49] >= 1).all()


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20), st.floats(1, 5000))
def test_keys_that_come_more_often_still_do(live, rush):
    live = np.sort(np.array(live))
    left = live / thinned(live, rush)
    assert (np.diff(left) >= -0.07 * left[1:]).all()  # sixteenths round
    assert (left <= live).all()


def skewed(rows=60_000, keys=3000, power=3.0, seed=1):
    random = np.random.default_rng(seed)
    key = (keys * random.random(rows) ** power).astype(np.int64)
    return (np.arange(rows) % 2).astype(np.int8), key, np.arange(rows)


def test_small_streams_are_replayed_as_they_are():
    side, key, time = skewed(rows=8000)
    sample, live = draw_join(side, key, time, 2000, 10**6, 0.01, 0)
    assert sample.whole
    join = Join("lru", 300, within=2000)
    join.push(side, key, time, emit=False)
    found = replay_join(sample, "lru", 300)
    assert found.share == pytest.approx(join.results / sample.exact.sum())
    assert found.error == 0
    assert live.peak == 2001
    at = first_matches(side, key, time, time + 2000)
    assert sample.matchable.sum() == (at < len(key)).sum()
    assert found.beside == (join.rows_matched / sample.matchable.sum(), 0, None)


def test_the_goal_decides_what_is_measured_first():
    side, key, time = skewed(rows=8000)
    sample, _ = draw_join(side, key, time, 2000, 10**6, 0.01, 0)
    join = Join("prob", 300, within=2000, goal="rows")
    join.push(side, key, time, emit=False)
    found = replay_join(sample, "prob", 300, goal="rows")
    assert found.share == pytest.approx(join.rows_matched / sample.matchable.sum())
    assert found.beside.share == pytest.approx(join.results / sample.exact.sum())
    assert found.share > 1.2 * replay_join(sample, "prob", 300).beside.share


def test_the_ten_hottest_keys_are_counted_with_those_they_stand_for():
    random = np.random.default_rng(4)
    key = np.sort(random.integers(0, 30, 2000))
    side, time = (np.arange(2000) % 2).astype(np.int8), np.arange(2000)
    weight = np.where(key < 3, 1.0, 4.0)
    split = Split(np.arange(30) < 3, 4, np.ones(30), Limits(0.01), 1.0)
    sample = join_sample(side, key, time, weight, key < 3, None, WHOLE, split)
    pairs = [int(np.prod(np.bincount(side[key == each], minlength=2))) for each in range(30)]
    listed = [(count, 1 if each < 3 else 4) for each, count in enumerate(pairs)]
    assert sample.top(10) == pytest.approx(naive.ten_keys(listed))


# Stretches of time, and sampled keys.
KINDS = [(4000, "pairs"), (30_000, "rows"), (4000, "rows"), (30_000, "pairs")]


@pytest.mark.parametrize("kind", some(KINDS, KINDS[:1]), ids=str)
def test_samples_tell_the_truth_within_their_error(kind):
    within, goal = kind
    side, key, time = skewed()
    sample, live = draw_join(side, key, time, within, 25_000, 0.02, 3, goal)
    assert not sample.whole
    assert len(sample.key) < 0.8 * len(key)
    assert (sample.weight > 1).any() or len(sample.parts) >= 3  # else there would be no error
    full, _ = draw_join(side, key, time, within, 10**9, 0.02, 0)
    for policy in ("fifo", "prob"):
        for share in (0.05, 0.3):
            budget = share * live.mean
            true = replay_join(full, policy, budget, goal=goal)
            said = replay_join(sample, policy, budget * sample.live / live.mean, goal=goal)
            assert said.share == pytest.approx(true.share, abs=max(0.03, said.error))
            error = max(0.03, said.beside.error)
            assert said.beside.share == pytest.approx(true.beside.share, abs=error)


class TestHotKeys:
    table = KeyTable(np.arange(1000), np.r_[5000, np.full(999, 10)], np.r_[1e5, np.full(999, 50.0)])

    def test_the_one_that_makes_most_results_is_always_in(self):
        split = split_keys(self.table, most=0.1, heaviest=64, limits=Limits(0.02))
        assert split.hot[0]
        assert not split.hot[1:].all()
        for seed in range(20):
            weight = weights_of(self.table, split, seed)
            assert weight[0] == 1
            assert set(weight[1:].tolist()) <= {0, 1, split.weight}

    def test_the_sample_stands_for_all_rows(self):
        split = split_keys(self.table, most=0.1, heaviest=64, limits=Limits(0.02))
        totals = [
            (weights_of(self.table, split, seed) * self.table.rows).sum() for seed in range(200)
        ]
        assert np.mean(totals) == pytest.approx(self.table.rows.sum(), rel=0.02)

    @given(st.lists(st.integers(1, 400), min_size=2, max_size=200), st.floats(0.005, 0.1))
    def test_chance_adds_no_more_than_was_allowed(self, rows, error):
        rows = np.array(rows)
        table = KeyTable(np.arange(len(rows)), rows, rows.astype(float) ** 2)
        split = split_keys(table, most=0.0, heaviest=64, limits=Limits(error))
        cold = ~split.hot
        variance = 0.25 * (split.weight - 1) * (table.share[cold] ** 2).sum()
        assert variance <= error**2 * (1 + 1e-9)

    def test_a_weight_leaves_slots_in_a_small_memory(self):
        assert split_keys(self.table, most=0.0, heaviest=4, limits=Limits(0.5)).weight <= 4
        assert split_keys(self.table, most=0.0, heaviest=1, limits=Limits(0.5)).everything


@given(
    st.lists(st.integers(0, 50), min_size=20, max_size=300),
    st.floats(0.01, 1.0),
    st.integers(1, 20),
    st.integers(0, 5),
)
def test_stretches_lie_apart_and_begin_with_a_window(rows, part, within, seed):
    edges = np.arange(len(rows) + 1)
    rows = np.array(rows) + 1
    found = choose_stretches(edges, rows, part, rows.mean() * within, within, seed)
    if found is WHOLE:
        return
    assert len(found) >= 3
    for each in found:
        assert each.start == each.warm + within < each.stop
        assert 0 <= each.warm < each.stop <= len(rows)
    for one, two in pairwise(found):
        assert two.warm > one.stop + within  # what one held has expired when the next begins
