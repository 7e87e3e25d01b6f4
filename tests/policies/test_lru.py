"""LRU: worked cases, the twin with tuples that expire out of turn, bad parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, streams


def test_a_match_makes_young_and_to_match_does_not():
    # row 2 meets row 0, so row 1 is evicted; row 3 meets row 0 again, so row 2 is evicted, which
    # was matched by nothing although it had matched; row 4 meets row 3: row 0 was matched last at
    # time 3
    join = Join("lru", 2, within=100)
    found = join.push(side=[0, 0, 1, 1, 0], key=[7, 8, 7, 7, 7], time=range(5)).rows
    assert found.tolist() == [[0, 2], [0, 3], [4, 3]]
    assert join.held_rows.tolist() == [3, 4]


def test_of_several_matched_at_once_the_newest_was_matched_first():
    # row 2 meets row 1 and then row 0, so row 1 is the less recent, and evicted first
    join = Join("lru", 3, within=100)
    found = join.push(side=[0, 0, 1, 0], key=[7, 7, 7, 9], time=range(4)).rows
    assert found.tolist() == [[1, 2], [0, 2]]
    assert join.held_rows.tolist() == [0, 2, 3]


def test_a_hit_makes_young():
    # 1 is hit, so 3 pushes out 2; then 2 pushes out 1, whose hit is now the longest ago
    cache = Lookup("lru", 2)
    assert cache.push([1, 2, 1, 3, 2]).hit.tolist() == [False, False, True, False, False]
    assert cache.resident.tolist() == [3, 2]


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_joins_as_its_twin_when_tuples_expire_out_of_order(rows, budget):
    assert_same_join("lru", [rows], budget)


def test_bad_parameters():
    with pytest.raises(BadInput, match=r"^unknown parameter 'k' of policy 'lru'; it has none$"):
        Join("lru:k=2", 4)
