"""LHD: worked cases, the twin where it draws and learns, bad parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams


def without_explorers(cache):
    """Return the cache as if it had its one explorer already: no other will be made."""
    cache._states[0].explorers[0] = 1
    return cache


def test_before_anything_is_learned_a_quick_match_counts_and_fades():
    # A class c and an age a are worth (c + 1) / (1 + a / 2), a being the youngest of its bin. 1 is
    # hit 2 after it came: class 6, which is worth 7. 3 evicts 2, worth 1 / 2. From then on the
    # other one is 1 old whenever a key comes, and worth 1 / 1.5.
    cache = without_explorers(Lookup("lhd", 2))
    cache.push([1, 2, 1, *range(3, 26)])
    assert cache.resident.tolist() == [1, 25]  # 1 is 23 old, and worth 7 / 9 since it was 16
    cache.push([26])  # at 24 it is worth 7 / 13
    assert cache.resident.tolist() == [25, 26]


def test_a_join_spares_what_was_matched():
    # row 2 meets row 0 (class 6: worth 7) and evicts row 1 (1 / 1.5); at row 3, row 0 is worth
    # 7 / 1.5 and row 2, not matched, 1 / 1.5
    join = Join("lhd", 2, within=100)
    join.push(side=[0, 0, 1, 0], key=[1, 2, 1, 9], time=range(4))
    assert join.held_rows.tolist() == [0, 3]


def test_what_is_learned_at_the_8192th_arrival():
    # As if two had been hit at the age of 1 and two had left at 3; the key asked for all the time
    # is hit once in class 0, at the age of 1, once in class 7, and ever after in class 13, 8188
    # times before the lesson. In class 4 one was hit at the age of 4 or 5.
    cache = without_explorers(Lookup("lhd", 8))
    cache._states[0].hits[0, 1] = 2.0
    cache._states[0].gone[0, 3] = 2.0
    cache._states[0].hits[4, 4] = 1.0
    cache.push([5] * 8192)
    density = cache._states[0].density
    # still to come at ages 0 to 3: 5 5 2 2 events, so 14 9 4 2 ages to live; 3 3 0 0 hits
    assert density[0, :5].tolist() == [3 / 14, 3 / 9, 0.0, 0.0, 0.0]
    assert density[7, :3].tolist() == [1 / 2, 1.0, 0.0]
    assert density[13, :3].tolist() == [1 / 2, 1.0, 0.0]
    assert density[4, :6].tolist() == [1 / 6, 1 / 5, 1 / 4, 1 / 3, 1 / 2, 0.0]
    assert density[1, :3].tolist() == [2, 2 / (9 / 8), 2 / (10 / 8)]  # without events: as it was
    # the past fades, and the hit of the 8192th reference itself comes after
    assert cache._states[0].gone[0, 3] == 2 * 0.9
    assert cache._states[0].hits[13, 1] == pytest.approx(8188 * 0.9 + 1)


def test_an_explorer_stays_until_it_is_64_times_the_budget_old():
    cache = without_explorers(Lookup("lhd", 2))
    cache.push([1])
    cache._states[0].explores[cache.find([1])[0]] = True
    cache.push(np.arange(2, 129))
    assert cache.resident.tolist() == [1, 128]
    cache.push([129])
    assert cache.resident.tolist() == [128, 129]


def test_one_in_a_hundred_explores():
    cache = Lookup("lhd", 1000)
    cache.push(np.random.default_rng(11).integers(0, 5000, 20_000))
    assert cache._states[0].explorers[0] == cache._states[0].explores.sum() == 10


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_joins_as_its_twin_when_tuples_expire_out_of_order(rows, budget):
    assert_same_join("lhd", [rows], budget)


def test_joins_as_its_twin_when_it_draws_and_learns():
    random = np.random.default_rng(9)
    n = 8600
    rows = [
        {"stream": int(stream), "keys": (int(key),), "time": at}
        for at, (stream, key) in enumerate(zip(random.integers(0, 2, n), random.zipf(1.3, n) % 400))
    ]
    join = assert_same_join("lhd", [rows[:4500], rows[4500:]], 100, within=5000, seed=5)
    assert join.held == 100  # of which 32 are drawn
    assert not np.array_equal(join._states[0].density, Join("lhd", 100)._states[0].density)


@pytest.mark.parametrize("budget", [32, 33, 120])  # from 33 on 32 are drawn
def test_caches_as_its_twin_when_it_learns(budget):
    keys = np.random.default_rng(10).zipf(1.2, 8600) % 400
    cache = assert_same_lookup("lhd", [keys.tolist()], budget, seed=2)
    assert not np.array_equal(cache._states[0].density, Lookup("lhd", budget)._states[0].density)


def test_bad_parameters():
    with pytest.raises(BadInput, match=r"^unknown parameter 'k' of policy 'lhd'; it has none$"):
        Lookup("lhd:k=1", 4)
