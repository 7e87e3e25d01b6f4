"""S3-FIFO: worked cases, the twin for many shares, bad parameters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

SMALL = st.sampled_from([0.001, 0.1, 0.25, 0.5, 0.75, 0.999])


def test_two_uses_lead_to_the_main_queue_and_one_does_not():
    # two of four places are for the small queue. 1 was used twice: 5 moves it to the main queue,
    # and 2 goes, used once
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 1, 1, 2, 5])
    assert cache.resident.tolist() == [1, 3, 4, 5]


def test_who_comes_back_in_time_goes_to_the_main_queue():
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 1, 1, 5])  # small 3 4 5, main 1, remembered 2
    cache.push([2])  # 3 goes: small 4 5, main 1 2, remembered 3
    assert cache.resident.tolist() == [1, 4, 5, 2]
    cache.push([6, 7])  # 4 and 5 go: small 6 7, main 1 2, remembered 4 5; 3 is forgotten
    cache.push([3])  # 6 goes: small 7 3, main 1 2, remembered 5 6
    cache.push([6])  # 7 goes, and 6 is known: small 3, main 1 2 6, remembered 7
    assert cache.resident.tolist() == [1, 2, 3, 6]
    cache.push([8])  # the small queue has less than its share: 1 goes, the oldest of main
    assert cache.resident.tolist() == [2, 3, 6, 8]


def test_the_victim_is_remembered_before_the_newcomer_is_looked_up():
    # one place to remember: 1 goes for 3; when 1 comes back, 2 goes and takes its place there, so
    # 1 comes to the small queue, and goes when its turn has come
    cache = Lookup("s3fifo:small=0.5", 2)
    cache.push([1, 2, 3, 1])
    assert cache.resident.tolist() == [3, 1]
    cache.push([4, 5])
    assert cache.resident.tolist() == [4, 5]


def test_in_the_main_queue_a_use_buys_a_round():
    # 1 2 3 were used twice and move to the main queue, unused there. 4 is alone in the small
    # queue, under its share, so 1 goes for 5.
    cache = Lookup("s3fifo:small=0.5", 4)
    cache.push([1, 2, 3, 4, 1, 1, 2, 2, 3, 3, 5])
    assert cache.resident.tolist() == [2, 3, 4, 5]
    # 2 is used. 6 and 7 push out 4 and 5, from the small queue, which has its share of two.
    cache.push([2, 6, 7])
    assert cache.resident.tolist() == [2, 3, 6, 7]
    # 4 and 5 are remembered. 5 pushes out 6 and comes to main. Now the small queue has less than
    # its share: for 8 the hand passes over 2, whose use is spent with that, and 3 goes.
    cache.push([5, 8])
    assert cache.resident.tolist() == [2, 7, 5, 8]


def test_uses_are_counted_up_to_three():
    # 1 and 2, used twice, move to main; 1 goes, 3 waits in the small queue. 2 is used five times,
    # of which three count. Each of 3 4 5 is used twice and so moves behind 2, which spends a use;
    # they go, unused in main. 6 is the fourth: 2 has nothing left.
    cache = Lookup("s3fifo:small=0.5", 2)
    cache.push([1, 2, 1, 1, 2, 2, 3])
    cache.push([2] * 5)
    cache.push([3, 3, 4, 4, 4, 5, 5, 5, 6])
    assert cache.resident.tolist() == [2, 6]
    cache.push([6, 6, 7])
    assert cache.resident.tolist() == [6, 7]


def test_a_join_remembers_keys():
    # one of two places is for the small queue. Row 2 meets row 0, once, which is not enough: row 0
    # goes, and its key is remembered; so row 2, of the same key, goes to the main queue. Rows 3
    # and 4 push out rows 1 and 3 through the small queue. By age row 2 would be the next to go.
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
