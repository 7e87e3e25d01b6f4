"""Caching reduced to joining: the engines of the one get what the engines of the other get."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.reduction import as_join
from penstock.engine import Join, Lookup
from penstock.kernel.jit import jit
from penstock.kernel.policy import REJECT, Configured, Policy
from penstock.simulate.flowexpect import FlowExpect
from penstock.simulate.optimum import lfd, most_results
from penstock.simulate.traces import LookupTrace
from penstock.simulate.workloads import GENERATED
from tests.models.known import Known
from tests.naive import reduction as naive

KEYS = st.lists(st.integers(-2, 4), max_size=40)
ROWS = 4096  # that a schedule has room for: the array must not change its size


class Schedule(NamedTuple):
    """When each row leaves at the latest."""

    until: np.ndarray  # int64[ROWS]


def make_state(setup, until):
    return Schedule(until)


@jit
def soonest(state, held, newcomer, now):
    """Return the slot that was to leave first, or the newcomer. All slots are in use."""
    worst, least = REJECT, state.until[held.at[newcomer]["row"]]
    for slot in range(len(held.at) - 1):
        until = state.until[held.at[slot]["row"]]
        if until < least:
            worst, least = slot, until
    return worst


SCHEDULED = Policy("scheduled", "leaves as told", make_state, soonest)


def scheduled(until):
    """Return a policy that holds each row until the given step."""
    padded = np.zeros(ROWS, np.int64)
    padded[: len(until)] = until
    return Configured(SCHEDULED, {"until": padded})


def decisions(name, keys, budget):
    """Return the hits of a cache, and after each reference the keys that it holds."""
    cache, hits, held = Lookup(name, budget, seed=3), [], []
    for key in keys:
        hits.append(bool(cache.push([key]).hit[0]))
        held.append(set(cache.resident.tolist()))
    return hits, held


def departures(keys, held):
    """Return until which step each row of the join is held, if it is held as the cache does.

    A copy supplied at a step is held until the next reference to its key, or until the cache drops
    the key; one that the cache does not take in, and every reference, is not held at all.
    """
    until = []
    for t, key in enumerate(keys):
        stays = t
        while stays < len(keys) and key in held[stays] and key not in keys[t + 1 : stays + 1]:
            stays += 1
        until += [-1, stays if stays > t else -1]
    return until


def test_the_papers_streams():
    # a b a c a
    joined = as_join(LookupTrace([1, 2, 1, 3, 1]))
    assert joined.key[::2].tolist() == [0, 4, 1, 6, 2]
    assert joined.key[1::2].tolist() == [1, 5, 2, 7, 3]
    assert (joined.together, len(set(joined.time)), joined.end) == (True, 5, None)


@given(keys=KEYS)
def test_numbers_stand_for_the_pairs_of_the_twin(keys):
    joined = as_join(LookupTrace(np.array(keys, np.int64)))
    ours = [*joined.key[::2].tolist(), *joined.key[1::2].tolist()]
    references, supply = naive.as_join(keys)
    pairs = [*references, *supply]
    assert len(set(zip(ours, pairs, strict=True))) == len(set(ours)) == len(set(pairs))


@given(keys=KEYS, budget=st.integers(1, 4))
def test_the_optimum_is_that_of_the_cache(keys, budget):
    joined = as_join(LookupTrace(np.array(keys, np.int64)))
    rows = joined.side, joined.key, joined.time
    assert most_results(*rows, budget=budget, together=True) == lfd(keys, budget).sum()


@pytest.mark.parametrize("references", [GENERATED["walk"].references, GENERATED["zipf"].references])
def test_the_optimum_of_a_longer_stream(references):
    trace = references(2000, seed=2)
    joined = as_join(trace)
    rows = joined.side, joined.key, joined.time
    for budget in (1, 10):
        best = most_results(*rows, budget=budget, together=True, first=200)
        assert best == lfd(trace.key, budget, first=100)[100:].sum()


@given(keys=st.lists(st.integers(0, 3), min_size=1, max_size=12), budget=st.integers(1, 2))
def test_planning_with_a_known_future_finds_it(keys, budget):
    joined = as_join(LookupTrace(keys))
    r, s = joined.key[::2], joined.key[1::2]
    plan = FlowExpect([Known(r), Known(s)], budget, lookahead=len(keys))
    assert sum(plan.push(*step) for step in zip(r, s, strict=True)) == lfd(keys, budget).sum()


@pytest.mark.parametrize("name", ["lru", "fifo", "rand", "lfu"])
def test_the_same_decisions_give_the_same_results(name):
    keys = GENERATED["zipf"].references(400, seed=5, domain=30).key.tolist()
    budget = 6
    hits, held = decisions(name, keys, budget)
    joined = as_join(LookupTrace(keys))
    join = Join(scheduled(departures(keys, held)), budget, together=True)
    got = join.push(joined.side, joined.key, joined.time).rows
    assert sorted(got[:, 0] // 2) == np.flatnonzero(hits).tolist()
