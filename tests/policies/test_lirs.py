"""LIRS: worked cases, the twin for many shares, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

QUEUE = st.sampled_from([0.001, 0.1, 0.34, 0.5, 0.999])


def test_a_loop_larger_than_the_memory_finds_all_but_the_queue():
    # 1 to 9 stay, and every other key of the loop passes through the one place of the queue.
    cache = Lookup("lirs", 10)
    hit = cache.push(np.tile(np.arange(100), 4)).hit
    assert np.flatnonzero(hit[100:200]).tolist() == list(range(1, 10))
    assert cache.hits == 3 * 9


def test_a_queued_row_that_is_used_again_soon_is_kept_in_place_of_the_stalest():
    cache = Lookup("lirs:queue=0.34", 3)
    cache.push([1, 2, 3, 4])  # 4 evicts 1: kept 2 3, queue 4
    cache.push([4])  # used after 2 was: kept 3 4, queue 2
    cache.push([5])  # evicts 2
    assert cache.resident.tolist() == [3, 4, 5]


def test_a_key_evicted_lately_is_kept_when_it_comes_back_soon():
    cache = Lookup("lirs:queue=0.34", 3)
    cache.push([1, 2, 3, 4, 5])  # kept 2 3, queue 5; 4 was used after 2 was, and is remembered
    cache.push([4])  # evicts 5 and is kept in place of 2: kept 3 4, queue 2
    cache.push([6])
    assert cache.resident.tolist() == [3, 4, 6]


def test_a_row_whose_last_use_is_long_ago_stays_in_the_queue():
    cache = Lookup("lirs:queue=0.5", 4)
    cache.push([1, 2, 3, 4, 5])  # 5 evicts 1: kept 3 4, queue 2 5
    cache.push([2, 6])  # 2 was used before 3 was: queue 5 2; 6 evicts 5
    assert cache.resident.tolist() == [2, 3, 4, 6]
    cache.push([7])  # and 2 is the next
    assert cache.resident.tolist() == [3, 4, 6, 7]


@given(rows=streams(ends=True), budget=st.integers(1, 12), queue=QUEUE)
def test_joins_as_its_twin(rows, budget, queue):
    assert_same_join("lirs", [rows], budget, params={"queue": queue})


@given(
    keys=st.lists(st.integers(0, 15), min_size=40, max_size=200),
    budget=st.integers(1, 12),
    queue=QUEUE,
)
def test_caches_as_its_twin(keys, budget, queue):
    assert_same_lookup("lirs", [keys], budget, params={"queue": queue})


@pytest.mark.parametrize("queue", ["0.0009", "0.9991", "-1", "nan"])
def test_bad_parameters(queue):
    sentence = f"parameter 'queue' of policy 'lirs' must be from 0.001 to 0.999, got {float(queue)}"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(f"lirs:queue={queue}", 4)
