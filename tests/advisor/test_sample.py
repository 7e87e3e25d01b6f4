"""Samples and replays beside their plain-Python twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.advisor.draw import draw_join
from penstock.advisor.hot import KeyTable, Split, split_keys, weights_of
from penstock.advisor.live import live_by_bins, live_rows
from penstock.advisor.replay import replay_join
from penstock.advisor.sample import join_sample
from penstock.advisor.stretches import WHOLE, choose_stretches
from penstock.engines import Join
from tests.naive import advisor as naive

ROW = st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 3))


def streams(drawn):
    """Return columns from (side, key, gap); a key's weight is 1 or 3."""
    side, key, gap = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    return side.astype(np.int8), key, np.cumsum(gap), np.where(key % 2, 3, 1)


@given(st.lists(ROW, min_size=1, max_size=60), st.integers(0, 9))
def test_live_rows_are_those_of_the_twin(drawn, within):
    _, _, time, weight = streams(drawn)
    assert live_rows(time, within, weight) == pytest.approx(
        naive.live(time.tolist(), within, weight.tolist())
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
    side, key, time, weight = streams(drawn)
    order = np.lexsort((side, time))
    columns = [each[order] for each in (side, key, time, weight)]
    rows = list(zip(*(each.tolist() for each in columns), strict=True))
    split = Split(np.ones(5, bool), 1, 1.0, 0.0)
    sample = join_sample(*columns, within, WHOLE, split)
    full = naive.matches(rows, within)
    assert sample.matches.sum() == full
    if full:
        found = naive.weighted_fifo(rows, within, budget)
        assert replay_join(sample, "fifo", budget).share == pytest.approx(found / full)


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
    assert found.share == pytest.approx(join.results / sample.matches.sum())
    assert found.error == 0
    assert live.peak == 2001


@pytest.mark.parametrize("within", [4000, 30_000])  # stretches of time, and sampled keys
def test_samples_tell_the_truth_within_their_error(within):
    side, key, time = skewed()
    sample, live = draw_join(side, key, time, within, 25_000, 0.02, 3)
    assert not sample.whole
    assert len(sample.key) < 0.8 * len(key)
    assert sample.weighted or len(sample.parts) >= 3  # else there would be no error to tell
    full, _ = draw_join(side, key, time, within, 10**9, 0.02, 0)
    for policy in ("fifo", "prob"):
        for share in (0.05, 0.3):
            budget = share * live.mean
            true = replay_join(full, policy, budget).share
            said = replay_join(sample, policy, budget * sample.live / live.mean)
            assert said.share == pytest.approx(true, abs=max(0.03, said.error))


class TestHotKeys:
    table = KeyTable(np.arange(1000), np.r_[5000, np.full(999, 10)], np.r_[1e5, np.full(999, 50.0)])

    def test_the_one_that_makes_most_results_is_always_in(self):
        split = split_keys(self.table, most=0.1, heaviest=64, error=0.02)
        assert split.hot[0]
        assert not split.hot[1:].all()
        for seed in range(20):
            weight = weights_of(self.table, split, seed)
            assert weight[0] == 1
            assert set(weight[1:].tolist()) <= {0, 1, split.weight}

    def test_the_sample_stands_for_all_rows(self):
        split = split_keys(self.table, most=0.1, heaviest=64, error=0.02)
        totals = [
            (weights_of(self.table, split, seed) * self.table.rows).sum() for seed in range(200)
        ]
        assert np.mean(totals) == pytest.approx(self.table.rows.sum(), rel=0.02)

    @given(st.lists(st.integers(1, 400), min_size=2, max_size=200), st.floats(0.005, 0.1))
    def test_chance_adds_no_more_than_was_allowed(self, rows, error):
        rows = np.array(rows)
        table = KeyTable(np.arange(len(rows)), rows, rows.astype(float) ** 2)
        split = split_keys(table, most=0.0, heaviest=64, error=error)
        cold = ~split.hot
        variance = 0.25 * (split.weight - 1) * (table.share[cold] ** 2).sum()
        assert variance <= error**2 * (1 + 1e-9)
        assert split.spread**2 == pytest.approx(4 * variance)

    def test_a_weight_leaves_slots_in_a_small_memory(self):
        assert split_keys(self.table, most=0.0, heaviest=4, error=0.5).weight <= 4
        assert split_keys(self.table, most=0.0, heaviest=1, error=0.5).everything


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
        assert two.warm > one.stop + within  # what one held is dead when the next begins
