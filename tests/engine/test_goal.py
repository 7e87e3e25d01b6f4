"""The goal of rows: worked cases, every shape of join against the naive engine, and restarts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams, in_pairs
from tests.compare import assert_same_join, cut, streams
from tests.marks import long, plain
from tests.recount import recount

# A shape is compiled anew for each policy, which takes seconds: compiled a simple one must do.
SELDOM = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("lba", "lru", "clock", "gdj", "life")
]
NAMES = ["rate", "lru", "prob"] if config.DISABLE_JIT else ["fifo"]
MIXED = (((0, 0), (1, 0), (2, 1)), ((1, 1), (2, 0)))  # a three-way and a two-way join
budgets = st.integers(1, 12)


def held_matched(join):
    """Return which of the rows held were in a result already, in the order of `held_rows`."""
    return join._tables.held.at["matched"][join._live()].astype(bool)


def rows_in(*parts):
    """Return how many rows are in at least one of the results."""
    return len({row for part in parts for result in part.rows.tolist() for row in result})


def test_a_row_that_matched_and_is_not_the_newest_is_evicted_first():
    # row 2 matches rows 0 and 1; row 0 is then spent, and makes room although row 3 is refused by
    # none; the next victim is FIFO's: row 1, which is the newest of its key
    join = Join("fifo", 3, within=100, goal="rows")
    join.push(side=[0, 0, 1, 0], key=[7, 7, 7, 8], time=range(4))
    assert join.held_rows.tolist() == [1, 2, 3]
    join.push(side=[0], key=[9], time=[4])
    assert join.held_rows.tolist() == [2, 3, 4]


def test_a_newcomer_takes_the_place_of_the_row_it_makes_spent():
    # rows 1 and 2 have matched; row 3 replaces row 1, not the oldest
    join = Join("fifo", 3, within=100, goal="rows")
    join.push(side=[0, 0, 1, 0], key=[8, 7, 7, 7], time=range(4))
    assert join.held_rows.tolist() == [0, 2, 3]


def test_a_row_that_waits_is_not_spent():
    # nothing has matched: row 3 pushes out the oldest, although row 1 is not the newest
    join = Join("fifo", 3, within=100, goal="rows")
    join.push(side=[0, 0, 0, 0], key=[8, 7, 7, 7], time=range(4))
    assert join.held_rows.tolist() == [1, 2, 3]


def test_with_room_for_all_nothing_is_lost():
    random = np.random.default_rng(1)
    side, key = random.integers(0, 2, 2000), random.zipf(1.5, 2000) % 50
    exact = Join(within=100).push(side, key).rows.tolist()
    assert Join("rate", 101, within=100, goal="rows").push(side, key).rows.tolist() == exact


def test_rows_matched_are_counted_once_each():
    random = np.random.default_rng(2)
    side, key = random.integers(0, 2, 2000), random.zipf(1.5, 2000) % 50
    for goal in ("pairs", "rows"):
        join = Join("lru", 20, within=300, goal=goal)
        found = [join.push(side[at : at + 100], key[at : at + 100]) for at in range(0, 2000, 100)]
        assert join.rows_matched == rows_in(*found) == join.counters["rows_matched"].sum()
        matched = {row for part in found for result in part.rows.tolist() for row in result}
        assert held_matched(join).tolist() == [row in matched for row in join.held_rows.tolist()]
        assert join.attained == (join.results if goal == "pairs" else join.rows_matched)


@long
@pytest.mark.parametrize("name", ["rate", "prob", "fifo", *SELDOM])
def test_more_rows_are_matched_than_with_the_goal_of_pairs(name):
    random = np.random.default_rng(3)
    side, key = random.integers(0, 2, 20_000), random.zipf(1.3, 20_000) % 3000
    matched = {}
    for goal in ("pairs", "rows"):
        join = Join(name, 100, within=2000, goal=goal)
        join.push(side, key, emit=False)
        matched[goal] = join.rows_matched
    assert matched["rows"] > 1.05 * matched["pairs"]


def test_an_unknown_goal_is_refused():
    with pytest.raises(BadInput, match=r"^goal must be 'pairs' or 'rows', got 'clicks'$"):
        Join("lru", 3, goal="clicks")


@pytest.mark.parametrize("name", ["rate", "fifo"])
@given(data=st.data(), budget=budgets, within=st.integers(1, 30))
def test_two_streams(name, data, budget, within):
    batches = data.draw(cut(data.draw(streams(keys=4))))
    assert_same_join(name, batches, budget, goal="rows", within=within, restore=True)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_three_streams_in_one_join(name, data, budget):
    batches = data.draw(cut(data.draw(streams(count=3, keys=3, most=60))))
    options = {"joins": all_streams(3), "within": 12, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_two_joins_share_one_budget(name, data, budget):
    batches = data.draw(cut(data.draw(streams(count=4, keys=4))))
    options = {"joins": in_pairs(4), "within": 12, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_joins_of_different_widths(name, data, budget):
    batches = data.draw(cut(data.draw(streams(count=3, attributes=2, keys=3, most=60))))
    options = {"joins": MIXED, "attributes": 2, "within": 12, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_two_attributes_of_the_same_tuples(name, data, budget):
    batches = data.draw(cut(data.draw(streams(attributes=2, keys=4))))
    options = {"joins": all_streams(2, 2), "attributes": 2, "within": 12, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets, within=st.integers(1, 8))
def test_windows_by_count(name, data, budget, within):
    batches = data.draw(cut(data.draw(streams(nulls=True))))
    options = {"window": "count", "within": within, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_intervals_of_validity(name, data, budget):
    batches = data.draw(cut(data.draw(streams(keys=3, ends=True))))
    assert_same_join(name, batches, budget, goal="rows", restore=True)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=st.integers(2, 12))
def test_split_memory(name, data, budget):
    batches = data.draw(cut(data.draw(streams(keys=4))))
    options = {"layout": "split", "within": 15, "goal": "rows"}
    assert_same_join(name, batches, budget, restore=True, **options)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets, delay=st.integers(0, 10))
def test_rows_out_of_order(name, data, budget, delay):
    rows = data.draw(st.permutations(data.draw(streams(most=60, nulls=True))))
    options = {"within": 8, "delay": delay, "goal": "rows"}
    assert_same_join(name, data.draw(cut(rows)), budget, restore=True, **options)


@plain
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=budgets)
def test_steps_whose_rows_come_together(name, data, budget):
    rows = data.draw(streams(gap=1, ends=True))
    times = sorted({row["time"] for row in rows})
    steps = [[row for row in rows if row["time"] == time] for time in times]
    assert_same_join(name, steps, budget, together=True, goal="rows", restore=True)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), budget=st.integers(3, 30))
def test_budgets_in_bytes(name, data, budget):
    batches = data.draw(cut(data.draw(streams())))
    assert_same_join(name, batches, budget, sized=True, within=15, goal="rows", restore=True)


@pytest.mark.parametrize("name", ["fifo", "rate"])
@pytest.mark.parametrize("before", ["pairs", "rows"])
def test_a_restart_may_change_the_goal(name, before):
    random = np.random.default_rng(4)
    side, key, time = random.integers(0, 2, 3000), random.integers(0, 60, 3000), np.arange(3000)
    after = "rows" if before == "pairs" else "pairs"
    join = Join(name, 30, within=500, goal=before)
    join.push(side[:1500], key[:1500], time[:1500])
    other = Join.restore(join.save(), goal=after)
    recount(other)
    assert (other.goal, other.held_rows.tolist()) == (after, join.held_rows.tolist())
    assert held_matched(other).tolist() == held_matched(join).tolist()
    assert other.rows_matched == join.rows_matched
    other.push(side[1500:], key[1500:], time[1500:])
    recount(other)
    assert other.goal == Join.restore(other.save()).goal == after


def test_a_smaller_budget_takes_spent_rows_first():
    # rows 1 and 2 were matched by row 3, and row 1 is not the newest
    join = Join("fifo", 5, within=100, goal="rows")
    join.push(side=[0, 0, 0, 1, 0], key=[8, 7, 7, 7, 9], time=range(5))
    join.resize(4)
    assert join.held_rows.tolist() == [0, 2, 3, 4]
    join.resize(3)
    assert join.held_rows.tolist() == [2, 3, 4]


@given(data=st.data(), budget=budgets)
def test_a_goal_never_makes_a_wrong_result(data, budget):
    rows = data.draw(streams(keys=3))
    side, key, time = ([row[name] for row in rows] for name in ("stream", "keys", "time"))
    key = np.array(key, np.int64).reshape(len(rows), 1)
    exact = {tuple(pair) for pair in Join(within=9).push(side, key, time).rows.tolist()}
    found = Join("lru", budget, within=9, goal="rows").push(side, key, time).rows.tolist()
    assert len(found) == len({tuple(pair) for pair in found})
    assert {tuple(pair) for pair in found} <= exact
