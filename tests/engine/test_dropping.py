"""Rows that are dropped as they come: which, how many, and that nothing else sees them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join
from penstock.engine.batch import draw, make_dropping
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams
from tests.compare import assert_same_join, cut, listed, push_rows, streams
from tests.marks import plain
from tests.naive.rng import MASK, SplitMix, mix

rates = st.floats(0, 1, exclude_max=True)
seeds = st.integers(0, 2**64 - 1)


@given(rate=rates, seed=seeds, counts=st.lists(st.integers(0, 20), max_size=5))
def test_draws_are_one_an_arrival_however_they_are_asked_for(rate, seed, counts):
    coin = SplitMix(mix(MASK - seed))
    expected = [rate > 0 and (coin.next() >> 11) / 2**53 < rate for _ in range(sum(counts))]
    dropping = make_dropping(rate, seed)
    assert [bool(each) for count in counts for each in draw(dropping, count)] == expected


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.8])
def test_as_many_as_the_rate_says(rate):
    dropped = draw(make_dropping(rate, seed=3), 100_000)
    assert dropped.mean() == pytest.approx(rate, abs=0.01)


@pytest.mark.parametrize("name", ["rand", "gdj"])
@given(data=st.data(), budget=st.none() | st.integers(1, 8), drop=rates, seed=seeds)
def test_joins_as_its_twin_whatever_the_cuts_and_restores(name, data, budget, drop, seed):
    batches = data.draw(cut(data.draw(streams(nulls=True))))
    options = {"within": 12, "drop": drop, "seed": seed}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@given(data=st.data(), drop=rates, delay=st.integers(0, 10))
def test_rows_out_of_order_in_three_streams(data, drop, delay):
    rows = data.draw(st.permutations(data.draw(streams(count=3, keys=3, most=50))))
    options = {"within": 8, "drop": drop, "delay": delay, "joins": all_streams(3)}
    assert_same_join("lru", data.draw(cut(rows)), 6, restore=True, **options)


@given(rows=streams(), drop=rates, seed=seeds)
def test_what_is_dropped_might_as_well_not_have_come(rows, drop, seed):
    stays = ~draw(make_dropping(drop, seed), len(rows))
    number = np.flatnonzero(stays).tolist()
    join = Join("lru", 5, within=10, drop=drop, seed=seed)
    kept = Join("lru", 5, within=10, seed=seed)
    found = listed(push_rows(join, rows))
    expected = listed(push_rows(kept, [row for row, stay in zip(rows, stays, strict=True) if stay]))
    assert found == [(join, tuple(number[row] for row in pair)) for join, pair in expected]
    assert join.counters["dropped"].sum() == len(rows) - len(number)
    assert join.counters["arrived"].sum() == len(rows)


def test_a_batch_that_is_refused_draws_nothing():
    join, other = (Join("lru", 5, within=10, drop=0.5, seed=2) for _ in range(2))
    columns = np.arange(40) % 2, np.arange(40) % 3, np.arange(40)
    join.push(*(column[:20] for column in columns))
    other.push(*(column[:20] for column in columns))
    with pytest.raises(BadInput, match="time must not go back"):
        join.push([0, 1], [1, 1], [3, 4])
    rest = [column[20:] for column in columns]
    assert join.push(*rest).rows.tolist() == other.push(*rest).rows.tolist()


@pytest.mark.parametrize("drop", [-0.1, 1.0, 2.0, float("nan")])
def test_rates_outside_the_bounds(drop):
    with pytest.raises(BadInput, match="drop must be from 0 to below 1, got"):
        Join("lru", 5, drop=drop)


def test_a_window_by_count_would_not_know_its_length():
    with pytest.raises(BadInput, match="a count window counts what is dropped too"):
        Join("lru", 5, within=5, window="count", drop=0.1)
