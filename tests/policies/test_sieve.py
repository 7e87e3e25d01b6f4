"""SIEVE: worked cases, the twin with tuples that expire under the hand, bad parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, streams


def test_the_hand_goes_on_from_where_it_was_and_round_from_the_newest():
    # 1 and 2 were hit and are spared, 3 is evicted, which was the newest: the hand starts again
    cache = Lookup("sieve", 3)
    cache.push([1, 2, 3, 1, 2, 4])
    assert cache.resident.tolist() == [1, 2, 4]
    cache.push([5])  # their marks are spent: 1 is evicted, and the hand stands at 2
    assert cache.resident.tolist() == [2, 4, 5]
    cache.push([2, 6])  # 2 is spared, 4 is evicted, and the hand stands at 5
    assert cache.resident.tolist() == [2, 5, 6]
    cache.push([7, 8])  # 5 is evicted, 6 is evicted; 2, unmarked, lies behind the hand
    assert cache.resident.tolist() == [2, 7, 8]


def test_the_spared_keep_their_place():
    # row 3 meets row 0, which is spared; row 1 is evicted, and the hand stands at row 2, which is
    # evicted for row 4, as row 3 is evicted for row 5. With CLOCK row 0 would stand behind row 2,
    # and are evicted for row 5.
    join = Join("sieve", 3, within=100)
    join.push(side=[0, 0, 0, 1, 1, 1], key=[1, 2, 3, 1, 8, 9], time=range(6))
    assert join.held_rows.tolist() == [0, 4, 5]


def test_the_hand_moves_on_when_its_tuple_expires():
    # row 4 meets row 0; row 1 is evicted, the hand stands at row 2. That one has expired at time 7,
    # when row 5 finds room; the hand is now at row 3, which is evicted for row 6. From the oldest,
    # row 0 would be evicted.
    join = Join("sieve", 4)
    join.push(
        side=[0, 0, 0, 0, 1, 0, 0],
        key=[1, 2, 3, 4, 1, 5, 6],
        time=[0, 1, 2, 3, 4, 7, 8],
        end=[99, 99, 6, 99, 99, 99, 99],
    )
    assert join.held_rows.tolist() == [0, 4, 5, 6]


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_joins_as_its_twin_when_tuples_expire_under_the_hand(rows, budget):
    assert_same_join("sieve", [rows], budget)


def test_bad_parameters():
    with pytest.raises(BadInput, match=r"^unknown parameter 'k' of policy 'sieve'; it has none$"):
        Lookup("sieve:k=1", 4)
