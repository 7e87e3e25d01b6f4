"""GDSF: worked cases, the twin with every goal, and what it finds where rows differ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Lookup
from tests.naive.lookup import NaiveLookup
from tests.naive.policies import factory
from tests.recount import recount

references = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=20, max_size=150
)  # keys, and what they cost


def size_of(key):
    return 1 + 3 * key % 5


def test_what_is_cheap_to_fetch_is_evicted_first():
    cache = Lookup("gdsf", 2, goal="costs")
    cache.push([1, 2, 3], cost=[5, 1, 2])  # 2 is worth least
    assert cache.resident.tolist() == [1, 3]


def test_a_large_row_is_evicted_before_small_ones_that_are_worth_as_much():
    cache = Lookup("gdsf", 10, sized=True)
    cache.push([1, 2, 3], size=[2, 6, 3])
    assert cache.resident.tolist() == [1, 3]


def test_with_the_goal_of_bytes_a_hit_of_a_large_row_is_worth_its_size():
    # All are worth 1 a byte, so that uses decide: 1 was used twice.
    cache = Lookup("gdsf", 8, goal="bytes", sized=True)
    cache.push([1, 1, 2, 3], size=[6, 6, 2, 2])
    assert cache.resident.tolist() == [1, 3]
    assert cache.attained == 6


def test_what_was_not_used_for_long_is_evicted_whatever_it_is_worth():
    # 1 has a score of 30. Each victim adds 10 to those of newcomers; of equals the older leaves.
    cache = Lookup("gdsf", 2, goal="costs")
    cache.push([1, 2, 3, 4, 5], cost=[30, 10, 10, 10, 10])
    assert cache.resident.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("goal", "sized"), [("hits", False), ("costs", False), ("bytes", True), ("costs", True)]
)
@given(pairs=references, budget=st.integers(1, 20), restore=st.booleans())
def test_caches_as_its_twin_with_every_goal(goal, sized, pairs, budget, restore):
    twin = NaiveLookup(factory("gdsf"), budget, sized=sized, goal=goal)
    real = Lookup("gdsf", budget, sized=sized, goal=goal)
    for part in (pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]):
        keys, costs = [key for key, _ in part], [cost for _, cost in part]
        sizes = list(map(size_of, keys))
        options = ({"size": sizes} if sized else {}) | ({"cost": costs} if goal == "costs" else {})
        if restore:
            real = Lookup.restore(real.save())
        assert real.push(keys, **options).hit.tolist() == twin.push(keys, sizes, costs)
        recount(real)
        assert real.resident.tolist() == twin.resident
        assert real.attained == twin.attained


def test_it_finds_more_than_lru_where_costs_differ():
    random = np.random.default_rng(1)
    keys = random.zipf(1.2, 20_000) % 2000
    cost = 1 + (keys * 7919 % 100) ** 2
    found = {}
    for policy in ("gdsf", "lru"):
        cache = Lookup(policy, 100, goal="costs")
        cache.push(keys, cost=cost, emit=False)
        found[policy] = cache.attained
    assert found["gdsf"] > 1.1 * found["lru"]
