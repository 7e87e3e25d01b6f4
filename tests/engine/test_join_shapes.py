"""Every shape of join against the naive engine: sides, attributes, windows, layouts, lateness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from penstock.engine import Join
from penstock.kernel.shape import all_streams, in_pairs
from penstock.kernel.slots import FOREVER
from tests.compare import assert_same_join, cut, streams
from tests.marks import long, plain
from tests.recount import recount

# One policy that only looks at order, one with scores that add up over joins, one that draws lots,
# one whose scores fall. A shape is compiled anew for each policy, which takes seconds: compiled one
# of them must do, as plain Python all are tried.
COMPILED = not config.DISABLE_JIT
NAMES = ["prob"] if COMPILED else ["lru", "prob"]
DRAWN = [] if COMPILED else ["rand"]
FALLING = [] if COMPILED else ["life"]
budgets = st.integers(1, 12)
clocks = st.sampled_from(["slowest", "fastest"])
FOUR_STREAMS = in_pairs(4)
MIXED = (((0, 0), (1, 0), (2, 1)), ((1, 1), (2, 0)))  # a three-way and a two-way join


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=st.none() | budgets)
def test_three_streams_in_one_join(name, data, budget):
    batches = data.draw(cut(data.draw(streams(count=3, keys=3, most=60))))
    assert_same_join(name, batches, budget, joins=all_streams(3), within=12, restore=True)


@plain
@given(data=st.data(), budget=budgets)
def test_four_streams_in_one_join(data, budget):
    batches = data.draw(cut(data.draw(streams(count=4, keys=2, most=40))))
    assert_same_join(NAMES[0], batches, budget, joins=all_streams(4), within=15)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_two_joins_share_one_budget(name, data, budget):
    batches = data.draw(cut(data.draw(streams(count=4, keys=4))))
    assert_same_join(name, batches, budget, joins=FOUR_STREAMS, within=12, restore=True)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_two_attributes_of_the_same_tuples(name, data, budget):
    batches = data.draw(cut(data.draw(streams(attributes=2, keys=4))))
    joins = all_streams(2, 2)
    assert_same_join(name, batches, budget, joins=joins, attributes=2, within=12, restore=True)


@given(data=st.data(), budget=budgets)
def test_joins_of_different_widths(data, budget):
    batches = data.draw(cut(data.draw(streams(count=3, attributes=2, keys=3, most=60))))
    assert_same_join(NAMES[0], batches, budget, joins=MIXED, attributes=2, within=12, restore=True)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=st.none() | budgets, within=st.integers(1, 8))
def test_windows_by_count(name, data, budget, within):
    batches = data.draw(cut(data.draw(streams(nulls=True))))
    assert_same_join(name, batches, budget, window="count", within=within, restore=True)


@pytest.mark.parametrize("name", [*NAMES, *FALLING])
@given(data=st.data(), budget=budgets)
def test_intervals_of_validity(name, data, budget):
    batches = data.draw(cut(data.draw(streams(ends=True))))
    assert_same_join(name, batches, budget, restore=True)


@pytest.mark.parametrize("name", [*NAMES, *DRAWN])
@given(data=st.data(), budget=st.integers(2, 12), share=st.floats(0, 1))
def test_split_memory(name, data, budget, share):
    batches = data.draw(cut(data.draw(streams())))
    options = {"layout": "split", "shares": [share, 1 - share], "within": 15}
    if min(budget * share, budget * (1 - share)) < 1:
        options["shares"] = None
    assert_same_join(name, batches, budget, restore=True, **options)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets, delay=st.integers(0, 10), clock=clocks)
def test_rows_out_of_order(name, data, budget, delay, clock):
    rows = data.draw(st.permutations(data.draw(streams(most=60, nulls=True))))
    batches = data.draw(cut(rows))
    assert_same_join(name, batches, budget, within=8, delay=delay, clock=clock, restore=True)


@given(data=st.data(), budget=st.none() | budgets, delay=st.integers(0, 10), clock=clocks)
def test_streams_that_have_come_further_elsewhere(data, budget, delay, clock):
    rows = data.draw(st.permutations(data.draw(streams(most=60))))
    batches = data.draw(cut(rows))
    times = st.lists(st.integers(0, 60), min_size=2, max_size=2)
    told = [data.draw(times) for _ in batches]
    options = {"within": 8, "delay": delay, "clock": clock, "restore": True}
    assert_same_join("clock", batches, budget, told=told, **options)


@given(data=st.data(), budget=st.none() | budgets, delay=st.integers(0, 40))
def test_expired_tuples_that_are_still_held_match_nothing_and_hide_nothing(data, budget, delay):
    rows = data.draw(streams(keys=2, ends=True))
    often = data.draw(st.integers(1, 9))  # nearly all in the order of their ends, or hardly any
    for row in rows:
        kind = data.draw(st.integers(0, often))
        row["end"] = row["end"] if kind == 1 else row["time"] + 10 if kind else FOREVER
    assert_same_join(NAMES[0], data.draw(cut(rows)), budget, delay=delay, restore=True)


@given(data=st.data(), how=st.sampled_from(["end", "within"]))
def test_a_walk_ends_at_the_first_expired_tuple_only_if_all_behind_it_have_expired(data, how):
    """One key, nothing is dropped: expired tuples, late ones and others lie in one chain."""
    count = data.draw(st.integers(1, 12))
    ends = data.draw(
        st.lists(st.integers(0, 30) | st.just(FOREVER), min_size=count, max_size=count)
    )
    asked = data.draw(st.integers(0, 30))
    within = None if how == "end" else 1
    join = Join(NAMES[0], within=within, delay=1_000)
    join.push(side=[0] * count, key=[7] * count, time=[0] * count, end=ends)
    found = join.push(side=[1], key=[7], time=[asked], end=[FOREVER])
    assert found.rows[:, 0].tolist() == [i for i in range(count) if ends[i] >= asked][::-1]


@long
def test_a_large_memory_finds_what_sums_tell():
    """What is fetched ahead of time in a large memory changes nothing."""
    random, join = np.random.default_rng(3), Join(NAMES[0])
    side, key = random.integers(0, 2, 60_000), random.integers(0, 30_000, 60_000)
    for part in np.array_split(np.arange(len(key)), 3):
        join.push(side[part], key[part], part, emit=False)
        recount(join)
    left, right = (np.bincount(key[side == each], minlength=30_000) for each in (0, 1))
    assert join.results == (left * right).sum()


def test_a_stream_that_lags_behind_the_other_loses_nothing():
    join = Join(within=10, delay=5)
    join.push(side=[0] * 3, key=[1, 2, 3], time=[0, 500, 1000])
    late = join.push(side=[1] * 3, key=[1, 2, 3], time=[0, 500, 1000])
    assert late.rows.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert join.counters["late"].tolist() == [0, 0]
    assert join.watermark == 995


def test_the_fastest_stream_may_set_the_clock():
    join = Join(within=10, delay=5, clock="fastest")
    join.push(side=[0], key=[1], time=[1000])
    join.push(side=[1, 1], key=[1, 1], time=[994, 995])
    assert join.counters["late"].tolist() == [0, 1]


def test_a_silent_stream_halts_expiry():
    join = Join(within=10, delay=0)
    join.push(side=[0] * 100, key=np.arange(100), time=np.arange(0, 10_000, 100))
    assert (join.held, join.watermark) == (100, None)
    join.advance([9_950, 9_950])
    join.push(side=[0], key=[0], time=[9_950])
    assert join.held == 1


@pytest.mark.parametrize("name", [*NAMES, *DRAWN, *FALLING])
@given(data=st.data(), budget=budgets)
def test_steps_whose_rows_come_together(name, data, budget):
    rows = data.draw(streams(gap=1, ends=True))
    times = sorted({row["time"] for row in rows})
    steps = [[row for row in rows if row["time"] == time] for time in times]
    assert_same_join(name, steps, budget, together=True, restore=True)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=st.integers(3, 30))
def test_budgets_in_bytes(name, data, budget):
    batches = data.draw(cut(data.draw(streams())))
    assert_same_join(name, batches, budget, sized=True, within=15, restore=True)


@given(data=st.data())
def test_without_a_budget_or_a_window_nothing_is_lost(data):
    batches = data.draw(cut(data.draw(streams(nulls=True))))
    assert_same_join("fifo", batches, None, restore=True)
