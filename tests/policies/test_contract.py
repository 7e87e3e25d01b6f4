"""What every policy must keep, whatever it decides: one suite over `policies.BUILT_IN`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from penstock.engine import Join, Lookup
from penstock.policies import BUILT_IN
from tests.compare import assert_same_join, assert_same_lookup, cut, listed, push_rows, streams
from tests.marks import long
from tests.naive.offline import lfd_hits
from tests.recount import recount

# Every policy by its name, and with all parameters found while running where it can find some.
SPECS = [
    *((policy, policy.name) for policy in BUILT_IN),
    *(
        (p, f"{p.name}:" + ",".join(f"{name}=auto" for name in p.tunable))
        for p in BUILT_IN
        if p.tunable
    ),
]
JOINING = [spec for policy, spec in SPECS if "joining" in policy.problems]
CACHING = [spec for policy, spec in SPECS if "caching" in policy.problems]
# Compiled, the goal of rows is tried with policies that weigh by it and with some of the others.
FOR_ROWS = ("rate", "prob", "lba", "heeb", "lru", "clock", "gdj", "auto")
GOALS = [
    *((spec, "pairs") for spec in JOINING),
    *((spec, "rows") for spec in JOINING if config.DISABLE_JIT or spec in FOR_ROWS),
]
references = st.lists(st.integers(0, 9), min_size=40, max_size=150)


def parted(spec):
    """Return the name of a policy and its parameters."""
    name, _, tail = spec.partition(":")
    return name, dict(part.split("=") for part in tail.split(",")) if tail else {}


@pytest.mark.parametrize(("name", "goal"), GOALS)
@given(data=st.data(), budget=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
def test_joins_as_its_twin_whatever_the_cuts_and_restores(name, goal, data, budget, seed):
    batches = data.draw(cut(data.draw(streams())))
    name, params = parted(name)
    options = {"goal": goal, "within": 15, "seed": seed}
    assert_same_join(name, batches, budget, params=params, restore=True, **options)


@pytest.mark.parametrize("name", CACHING)
@given(data=st.data(), budget=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
def test_caches_as_its_twin_whatever_the_cuts_and_restores(name, data, budget, seed):
    batches = data.draw(cut(data.draw(references)))
    name, params = parted(name)
    assert_same_lookup(name, batches, budget, params=params, restore=True, seed=seed)


@pytest.mark.parametrize("name", JOINING)
@given(rows=streams(most=60), budget=st.integers(1, 6))
def test_never_holds_more_than_the_budget_after_any_arrival(name, rows, budget):
    join = Join(name, budget, within=10)
    for row in rows:
        push_rows(join, [row])
        recount(join)  # counts everything again, and against the budget
        assert join.held <= budget


@pytest.mark.parametrize("name", JOINING)
@given(data=st.data(), budget=st.integers(1, 8))
def test_output_does_not_depend_on_the_cuts(name, data, budget):
    rows = data.draw(streams(gap=2))
    whole, pieces = Join(name, budget, within=12), Join(name, budget, within=12)
    expected = listed(push_rows(whole, rows)) if rows else []
    # Rows of equal time are ordered inside a batch, so only cuts between times are free.
    rows = sorted(rows, key=lambda row: (row["time"], row["stream"]))
    found = []
    for piece in data.draw(cut(rows)):
        for time in sorted({row["time"] for row in piece}):
            found += listed(push_rows(pieces, [row for row in piece if row["time"] == time]))
    assert len(found) == len(expected)
    assert pieces.counters["evicted"].tolist() == whole.counters["evicted"].tolist()


@long
@pytest.mark.parametrize("name", JOINING)
def test_same_seed_same_output(name):
    random = np.random.default_rng(1)
    side, key = random.integers(0, 2, 4000), random.zipf(1.3, 4000) % 300
    outputs = []
    for _ in range(2):
        join = Join(name, 100, within=1000, seed=7)
        outputs.append(join.push(side, key, np.arange(4000)).rows.tolist())
        recount(join)
    assert outputs[0] == outputs[1]


@long
@pytest.mark.parametrize(("name", "goal"), GOALS)
def test_never_invents_a_result(name, goal):
    random = np.random.default_rng(2)
    side, key, time = random.integers(0, 2, 3000), random.integers(0, 50, 3000), np.arange(3000)
    exact = {tuple(pair) for pair in Join(within=200).push(side, key, time).rows.tolist()}
    bounded = Join(name, 30, within=200, goal=goal).push(side, key, time).rows.tolist()
    pairs = [tuple(pair) for pair in bounded]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) < exact


@pytest.mark.parametrize("name", CACHING)
@given(keys=references, budget=st.integers(1, 6))
def test_hits_are_at_most_those_of_hindsight(name, keys, budget):
    cache = Lookup(name, budget)
    cache.push(np.array(keys, np.int64))
    assert cache.hits <= lfd_hits(keys, budget)


@long
@pytest.mark.parametrize("name", JOINING)
def test_grows_beyond_the_first_tables_without_a_trace(name):
    """More tuples than the tables are first made for, cut in two ways."""
    random = np.random.default_rng(3)
    side, key, time = random.integers(0, 2, 9000), random.integers(0, 900, 9000), np.arange(9000)
    outputs = []
    for step in (9000, 700):
        join = Join(name, 2500, within=6000)
        for at in range(0, 9000, step):
            part = slice(at, at + step)
            join.push(side[part], key[part], time[part])
        recount(join)
        outputs.append((join.results, join.held_rows.tolist()))
    assert outputs[0] == outputs[1]
