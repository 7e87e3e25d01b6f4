"""RATE: worked cases, the twin under all parameters and in larger memories, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "half_life": st.sampled_from([0.1, 5, 1000.0, float("inf")]),
        "remains": st.booleans(),
        "admit": st.sampled_from(["always", "compete"]),
    },
)


def test_how_long_the_past_counts_decides():
    # 1 was asked for three times, 2 once, just now. At half-life 1 the last time counts as much as
    # all before it: 7/8 against 1. For ever, 1 is ahead.
    assert Lookup("rate:half_life=1", 1).push([1, 1, 1, 2, 2]).hit.tolist()[-1]
    cache = Lookup("rate:half_life=inf", 1)
    assert not cache.push([1, 1, 1, 2, 2]).hit.tolist()[-1]
    assert cache.resident.tolist() == [1]
    assert cache.counters["rejected"] == 2


def test_what_is_known_of_a_key_outlives_its_tuples():
    # 7 came twice on side 1 and is long gone at time 50; row 2 awaits it, row 3 awaits 8, which
    # never came, so row 4, which awaits nothing that is known either, pushes out row 3
    join = Join("rate:half_life=inf", 2, within=5)
    join.push(side=[1, 1, 0, 0, 0], key=[7, 7, 7, 8, 9], time=[0, 1, 50, 51, 52])
    assert join.held_rows.tolist() == [2, 4]


@pytest.mark.parametrize(("remains", "kept"), [("no", [3, 5]), ("yes", [4, 5])])
def test_what_remains_of_the_window_may_count(remains, kept):
    # 1 came twice on side 1, 2 once, all gone by time 50. When row 5 comes, row 3 has 3 moments
    # left, row 4 has 9 and row 5 has 11: 2, 3 and 11 / 3 where that counts. Where it does not, rows
    # 4 and 5 are worth half of row 3, and the older is evicted.
    join = Join(f"rate:half_life=inf,remains={remains}", 2, within=10)
    join.push(side=[1, 1, 1, 0, 0, 0], key=[1, 1, 2, 1, 2, 2], time=[0, 0, 0, 50, 56, 58])
    assert join.held_rows.tolist() == kept


@given(rows=streams(ends=True), budget=st.integers(1, 8), params=PARAMS)
def test_joins_as_its_twin(rows, budget, params):
    assert_same_join("rate", [rows], budget, params=params)


@given(keys=st.lists(st.integers(0, 9), max_size=200), budget=st.integers(1, 6), params=PARAMS)
def test_caches_as_its_twin(keys, budget, params):
    assert_same_lookup("rate", [keys], budget, params=params)


def test_joins_as_its_twin_in_a_larger_memory():
    random = np.random.default_rng(9)
    keys, sides = random.zipf(1.3, 1500) % 400, random.integers(0, 2, 1500)
    rows = [
        {"stream": int(stream), "keys": (int(key),), "time": at}
        for at, (stream, key) in enumerate(zip(sides, keys, strict=True))
    ]
    join = assert_same_join("rate", [rows[:900], rows[900:]], 60, within=300, restore=True)
    assert join.held == 60


def test_caches_as_its_twin_with_more_keys_than_it_remembers():
    random = np.random.default_rng(10)
    keys = np.where(random.random(3000) < 0.5, random.integers(0, 50, 3000), np.arange(3000))
    cache = assert_same_lookup("rate", [keys.tolist()], 20)
    rates = cache._states[0].forecast.rates
    assert len(np.unique(keys)) > rates.used[0] == rates.most[0] == 1024 + 3 * 20


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("half_life=0", "'half_life' of policy 'rate' must be at least 0.1, got 0.0"),
        ("half_life=nan", "'half_life' of policy 'rate' must be at least 0.1, got nan"),
        ("remains=7", "'remains' of policy 'rate' must be of type bool, got '7'"),
        ("admit=never", "'admit' of policy 'rate' must be one of always, compete, got 'never'"),
    ],
)
def test_bad_parameters(tail, message):
    with pytest.raises(BadInput, match=f"^parameter {re.escape(message)}$"):
        Join(f"rate:{tail}", 4)


def test_the_shortest_half_life():
    assert Join("rate:half_life=0.1", 4).held == 0
