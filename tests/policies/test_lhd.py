"""LHD: worked cases, the twin where it draws and learns, bad parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams


def test_before_anything_is_learned_a_quick_match_counts_and_fades():
    # A class c and an age a are worth (c + 1) / (a + 1). 1 is hit 2 after it came: class 3.
    # At the fourth reference 1 is worth 4 / 2 and 2 is worth 1 / 3, which goes for 3. From then on
    # the other one is 1 old whenever somebody comes, and worth 1 / 2; 1 falls from 4 / 3 to 4 / 7.
    cache = Lookup("lhd", 2)
    cache.push([1, 2, 1, 3, 4, 5, 6, 7, 8])
    assert cache.resident.tolist() == [1, 8]
    cache.push([9])  # 1 is 7 old: 4 / 8, a tie, and the older goes
    assert cache.resident.tolist() == [8, 9]


def test_a_join_spares_who_was_matched():
    # row 2 meets row 0 (class 3, age 0: 4) and row 1 (1 / 2) goes; at row 3, row 0 is worth 4 / 2
    # and row 2, not matched, 1 / 2
    join = Join("lhd", 2, within=100)
    join.push(side=[0, 0, 1, 0], key=[1, 2, 1, 9], time=range(4))
    assert join.held_rows.tolist() == [0, 3]


def test_what_is_learned_at_the_1024th_arrival():
    # Bins are one arrival wide. As if two had been hit at the age of 1 and two had left at 3; the
    # key asked for all the time is hit once in class 0, at the age of 1, and ever after in class 2,
    # 1021 times before the lesson.
    cache = Lookup("lhd", 8)
    assert cache._state.width[0] == 1
    cache._state.hits[0, 1] = 2.0
    cache._state.gone[0, 3] = 2.0
    cache.push([5] * 1024)
    density = cache._state.density
    # still to come at ages 0 to 3: 5 5 2 2 events, so 14 9 4 2 ages to live; 3 3 0 0 hits
    assert density[0, :5].tolist() == [3 / 14, 3 / 9, 0.0, 0.0, 0.0]
    assert density[2, :3].tolist() == [1021 / 2042, 1.0, 0.0]
    assert density[1, :3].tolist() == [2 / 1, 2 / 2, 2 / 3]  # nobody was there: as it was
    # the past fades, and the hit of the 1024th reference itself comes after
    assert cache._state.gone[0, 3] == 2 * 0.9
    assert cache._state.hits[2, 1] == pytest.approx(1021 * 0.9 + 1)


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_joins_as_its_twin_when_tuples_die_out_of_turn(rows, budget):
    assert_same_join("lhd", [rows], budget)


def test_joins_as_its_twin_when_it_draws_and_learns():
    random = np.random.default_rng(9)
    n = 2600
    rows = [
        {"stream": int(stream), "keys": (int(key),), "time": at}
        for at, (stream, key) in enumerate(zip(random.integers(0, 2, n), random.zipf(1.3, n) % 400))
    ]
    join = assert_same_join("lhd", [rows[:1500], rows[1500:]], 100, within=5000, seed=5)
    assert join.held == 100  # of which 64 are drawn
    assert not np.array_equal(join._states[0].density, Join("lhd", 100)._states[0].density)


@pytest.mark.parametrize("budget", [64, 65])
def test_caches_as_its_twin_when_it_learns(budget):
    keys = np.random.default_rng(10).zipf(1.2, 3500) % 400
    cache = assert_same_lookup("lhd", [keys.tolist()], budget, seed=2)
    drew = cache._state.rng[0] != 2
    assert drew == (budget > 64)


def test_bad_parameters():
    with pytest.raises(BadInput, match=r"^unknown parameter 'k' of policy 'lhd'; it has none$"):
        Lookup("lhd:k=1", 4)
