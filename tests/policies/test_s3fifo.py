"""S3-FIFO: worked cases, the twin for many shares, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

SMALL = st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.75, 0.999])


def test_while_the_memory_fills_the_oldest_are_on_probation():
    # Two of ten places are for the small queue: 0 and 1 are in it, 2 to 9 in the main queue. The
    # other 90 keys of the loop pass through the small queue, so that every lap finds 2 to 9.
    cache = Lookup("s3fifo:small=0.2", 10)
    hit = cache.push(np.tile(np.arange(100), 4)).hit
    assert np.flatnonzero(hit[:200]).tolist() == list(range(102, 110))
    assert cache.hits == 3 * 8


def test_two_uses_lead_to_the_main_queue_and_one_does_not():
    # small 1 2, main 3 4. 1 was used twice: 5 moves it to the main queue, and evicts 2, used once
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 1, 1, 2, 5])
    assert cache.resident.tolist() == [1, 3, 4, 5]


def test_a_remembered_key_enters_the_main_queue():
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 5])  # small 2 5, main 3 4, remembered 1
    cache.push([1])  # evicts 2: small 5, main 3 4 1, remembered 2
    cache.push([6])  # evicts 3, as the small queue has less than its share: small 5 6, main 4 1
    cache.push([7, 8])  # evict 5 and 6
    assert cache.resident.tolist() == [4, 1, 7, 8]


def test_a_newcomer_is_looked_up_before_its_victim_takes_the_last_place_of_the_ghost():
    # small 1, main 2, one place to remember: 3 evicts 1. When 1 comes back it evicts 3, whose key
    # takes the place of 1 only after 1 was found there and has entered the main queue.
    cache = Lookup("s3fifo:small=0.5", 2)
    cache.push([1, 2, 3, 1])
    assert cache.resident.tolist() == [2, 1]
    cache.push([4])  # the small queue is empty: evicts 2
    assert cache.resident.tolist() == [1, 4]


def test_in_the_main_queue_a_use_buys_a_round():
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 3, 5, 1])  # small 5, main 3 4 1, of which 3 was used once
    cache.push([6])  # spends the use of 3 and evicts 4: small 5 6, main 1 3
    assert cache.resident.tolist() == [3, 5, 1, 6]
    cache.push([2, 7])  # 2, remembered, evicts 5; 7 evicts 1: small 6 7, main 3 2
    cache.push([5, 8])  # 5, remembered, evicts 6; 8 evicts 3, which has no use left
    assert cache.resident.tolist() == [2, 7, 5, 8]


def test_uses_are_counted_up_to_three():
    # small 1, main 2, which is used five times. 1 3 4 5 are remembered when they come back, and so
    # enter the main queue behind 2; the newcomer after each spends a use of 2 and evicts them.
    cache = Lookup("s3fifo:small=0.5", 2)
    cache.push([1, 2] + [2] * 5)
    cache.push([3, 1, 4, 3, 5, 4, 6])
    assert cache.resident.tolist() == [2, 6]
    cache.push([5, 7])
    assert cache.resident.tolist() == [5, 7]


def test_a_budget_in_bytes_makes_no_difference_where_rows_are_of_equal_size():
    keys = np.random.default_rng(1).zipf(1.1, 5000) % 500
    rows, bytes_ = Lookup("s3fifo", 50), Lookup("s3fifo", 400, sized=True, scale=50)
    expected = rows.push(keys).hit.tolist()
    assert bytes_.push(keys, size=np.full(5000, 8)).hit.tolist() == expected


def test_a_join_remembers_keys():
    # small row 0, main row 1. Row 2 meets row 0, once, which is not enough: row 0 is evicted and
    # its key remembered; so row 2, of the same key, enters the main queue. Row 3 evicts row 1, the
    # oldest of the main queue, and row 4 evicts row 3 of the small one.
    join = Join("s3fifo:small=0.5", 2, within=100)
    join.push(side=[0, 0, 1, 0, 0], key=[7, 8, 7, 9, 5], time=range(5))
    assert join.held_rows.tolist() == [2, 4]


@given(rows=streams(ends=True), budget=st.integers(1, 12), small=SMALL)
def test_joins_as_its_twin(rows, budget, small):
    assert_same_join("s3fifo", [rows], budget, params={"small": small})


@given(
    keys=st.lists(st.integers(0, 15), min_size=40, max_size=200),
    budget=st.integers(1, 12),
    small=SMALL,
)
def test_caches_as_its_twin(keys, budget, small):
    assert_same_lookup("s3fifo", [keys], budget, params={"small": small})


@pytest.mark.parametrize("small", ["0.0009", "0.9991", "0", "1", "-1", "nan"])
def test_bad_parameters(small):
    value = float(small)
    sentence = f"parameter 'small' of policy 's3fifo' must be from 0.001 to 0.999, got {value}"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(f"s3fifo:small={small}", 4)


@pytest.mark.parametrize("small", [0.001, 0.999])
def test_the_bounds_themselves_are_allowed(small):
    cache = Lookup(f"s3fifo:small={small}", 2)
    cache.push([1, 2, 3])
    assert cache.resident.tolist() == [2, 3]
