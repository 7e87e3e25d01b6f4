"""RAND: worked draws, the twin under both rules of admission, fairness, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

SEEDS = st.integers(0, 2**64 - 1)


def test_a_draw_names_a_place_and_the_last_fills_the_gap():
    # SplitMix64 from 0 gives 0.883 0.431 0.026 0.971 0.106; of four places the fourth is the
    # newcomer. Rows 0 1 2 are in: 3.5 refuses row 3; 1.7 takes row 1, and 2 fills its place:
    # 0 2 4; 0.1 takes row 0, and 4 fills its place: 4 2 5; 3.9 refuses row 6; 0.4 takes row 4
    # (row 2, if those behind the gap had moved up instead).
    join = Join("rand", 3, within=100)
    join.push(side=[0] * 8, key=range(8), time=range(8))
    assert join.held_rows.tolist() == [2, 5, 7]
    assert join.counters["rejected"].tolist() == [2, 0]


def test_always_draws_from_the_held_alone():
    # the same draws of three places: 2.6 takes row 2, 1.3 takes row 1, and 3 fills its place:
    # 0 3 4; 0.1 takes row 0
    join = Join("rand:admit=always", 3, within=100)
    join.push(side=[0] * 6, key=range(6), time=range(6))
    assert join.held_rows.tolist() == [3, 4, 5]
    assert join.counters["rejected"].tolist() == [0, 0]


def test_a_cache_draws_in_the_same_way():
    # two places and the newcomer: 2.6 refuses 3, 1.3 takes 2, 0.08 takes 1, 2.9 refuses 6
    cache = Lookup("rand", 2)
    assert cache.push([1, 2, 3, 4, 5, 6, 4]).hit.tolist() == [False] * 6 + [True]
    assert cache.resident.tolist() == [4, 5]


@pytest.mark.parametrize(("admit", "chance"), [("compete", 1 / 5), ("always", 0)])
def test_all_are_as_likely_to_be_evicted(admit, chance):
    cache = Lookup(f"rand:admit={admit}", 4, seed=11)
    out = cache.push(np.arange(10_000))
    assert cache.counters["rejected"] == pytest.approx(chance * 10_000, rel=0.05)
    lives = np.flatnonzero(out.evicted) - out.victim[out.evicted]  # a key is when it came
    # a life ends at each arrival with the same chance, so it lasts 1 / chance on average: a tuple
    # kept with chance 4/5 is evicted with 1/5, one always kept is evicted with 1/4
    assert np.mean(lives) == pytest.approx(5 if chance else 4, rel=0.05)


def test_of_a_step_taken_together_all_newcomers_are_as_likely_to_stay():
    # 0.883 0.431 0.026 0.971: the first newcomer competes with the one held for two places, 1.8:
    # refused; the second is the third to compete, 1.3: refused; the third is the fourth, 0.1:
    # it takes the place. (One at a time the second would have been let in, at 0.9 of two.)
    join = Join("rand", 1, within=100, together=True)
    join.push(side=[0, 0, 0, 0], key=[1, 2, 3, 4], time=[0, 1, 1, 1])
    assert join.held_rows.tolist() == [3]
    assert join.counters["rejected"].tolist() == [2, 0]
    # at another time the count begins anew: 0.971 of two is the newcomer, 0.106 of three is not
    join.push(side=[0, 0], key=[5, 6], time=[2, 2])
    assert join.held_rows.tolist() == [5]


@given(rows=streams(gap=1), budget=st.integers(1, 6), seed=SEEDS)
def test_joins_as_its_twin_step_by_step(rows, budget, seed):
    assert_same_join("rand", [rows], budget, within=15, together=True, seed=seed)


@given(rows=streams(), budget=st.integers(1, 8), seed=SEEDS)
def test_joins_as_its_twin_when_always_admitting(rows, budget, seed):
    assert_same_join("rand", [rows], budget, params={"admit": "always"}, within=15, seed=seed)


@given(
    keys=st.lists(st.integers(0, 9), min_size=40, max_size=150),
    budget=st.integers(1, 8),
    seed=SEEDS,
)
def test_caches_as_its_twin_when_always_admitting(keys, budget, seed):
    assert_same_lookup("rand", [keys], budget, params={"admit": "always"}, seed=seed)


@given(rows=streams(most=60), budget=st.integers(1, 4))
def test_seeds_below_zero_and_above_64_bits_are_seeds_too(rows, budget):
    for seed in (-1, 2**64 + 5):
        assert_same_join("rand", [rows], budget, within=15, seed=seed)


def test_bad_parameters():
    sentence = "parameter 'admit' of policy 'rand' must be one of always, compete, got 'sometimes'"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join("rand:admit=sometimes", 4)
    with pytest.raises(BadInput, match=r"^unknown parameter 'seed' of policy 'rand'"):
        Lookup("rand:seed=4", 4)
