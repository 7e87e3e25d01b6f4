from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import policies
from penstock.engine import Lookup
from penstock.errors import BadInput
from penstock.kernel.policy import CACHING
from penstock.simulate.optimum import lfd
from tests.naive.offline import lfd_hits

CACHES = [policy for policy in policies.BUILT_IN if CACHING in policy.problems]
KEYS = st.lists(st.integers(-4, 4), max_size=80)


def best_by_trying(keys, budget, first):
    """Try everything that can be cached after every reference."""

    @cache
    def best(at, held):
        if at == len(keys):
            return 0
        hit = keys[at] in held and at >= first
        known = sorted({*held, keys[at]})
        kept = combinations(known, min(budget, len(known)))
        return hit + max(best(at + 1, choice) for choice in kept)

    return best(0, ())


def test_the_key_needed_last_is_evicted():
    # at 3 the cache holds 1 and 2, needed next at 3 and 4; 3 is needed last and not kept
    assert lfd([1, 2, 3, 1, 2, 3], budget=2).tolist() == [False, False, False, True, True, False]


def test_the_warm_up_is_not_worth_a_place():
    # 2 comes back at once, but that does not count; 1 comes back when it counts
    assert lfd([1, 2, 2, 1], budget=1).tolist() == [False, False, True, False]
    assert lfd([1, 2, 2, 1], budget=1, first=3).tolist() == [False, False, False, True]


def test_no_references_no_hits():
    assert lfd([], budget=1).tolist() == []


def test_a_cache_has_a_size():
    with pytest.raises(BadInput, match=r"budget must be .* at least 1, got 0"):
        lfd([1], budget=0)


@given(keys=KEYS, budget=st.integers(1, 6))
def test_agrees_with_the_twin(keys, budget):
    assert lfd(keys, budget).sum() == lfd_hits(keys, budget)


@given(
    keys=st.lists(st.integers(0, 4), max_size=12), budget=st.integers(1, 3), first=st.integers(0, 6)
)
def test_agrees_with_trying_everything(keys, budget, first):
    assert lfd(keys, budget, first=first)[first:].sum() == best_by_trying(keys, budget, first)


@pytest.mark.parametrize("policy", CACHES, ids=lambda p: p.name)
@pytest.mark.parametrize("first", [0, 400])
def test_no_policy_beats_it(policy, first):
    keys = np.random.default_rng(5).zipf(1.3, 2000) % 200
    hits = Lookup(policy, 20).push(keys).hit
    assert hits[first:].sum() <= lfd(keys, 20, first=first)[first:].sum()
