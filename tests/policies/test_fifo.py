"""FIFO: worked cases, the twin with tuples that expire out of turn, bad parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, streams


def test_a_match_changes_nothing():
    # row 2 meets row 0, and still row 0 is evicted, being the oldest; so row 3 meets nothing, and
    # row 1 is evicted; row 4 meets rows 2 and 3, the newest first
    join = Join("fifo", 2, within=100)
    found = join.push(side=[0, 0, 1, 1, 0], key=[7, 8, 7, 7, 7], time=range(5)).rows
    assert found.tolist() == [[0, 2], [4, 3], [4, 2]]
    assert join.held_rows.tolist() == [3, 4]
    assert join.counters["evicted"].tolist() == [2, 1]


def test_the_oldest_came_first_and_need_not_expire_first():
    # row 1 has the earliest end; row 3 pushes out row 0; at time 6 row 1 has expired, so row 4
    # finds room; row 5 pushes out row 2, which is now the oldest
    join = Join("fifo", 3)
    join.push(side=[0] * 6, key=[1] * 6, time=[0, 1, 2, 3, 6, 7], end=[99, 5, 99, 99, 99, 99])
    assert join.held_rows.tolist() == [3, 4, 5]
    assert join.counters["evicted"].tolist() == [2, 0]
    assert join.counters["expired"].tolist() == [1, 0]


def test_a_hit_changes_nothing():
    # 1 is hit and is evicted all the same when 3 comes; then 1 is fetched again and pushes out 2
    cache = Lookup("fifo", 2)
    assert cache.push([1, 2, 1, 3, 1]).hit.tolist() == [False, False, True, False, False]
    assert cache.resident.tolist() == [3, 1]


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_joins_as_its_twin_when_tuples_expire_out_of_order(rows, budget):
    assert_same_join("fifo", [rows], budget)


def test_bad_parameters():
    with pytest.raises(BadInput, match=r"^unknown parameter 'k' of policy 'fifo'; it has none$"):
        Join("fifo:k=1", 4)
