"""W-TinyLFU: worked cases, the twin for many shares and a halved sketch, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

SHARES = st.fixed_dictionaries(
    {
        "window": st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.999]),
        "protected": st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    }
)


def test_the_rarer_of_two_is_evicted_and_the_held_one_stays_at_a_tie():
    cache = Lookup("wtinylfu", 2)
    cache.push([1, 2, 3])  # the window holds one: 1 went on to probation. 2 came as often as 1
    assert cache.resident.tolist() == [1, 3]  # so 2, which wants its place, is evicted
    cache.push([3, 4])  # 3 came twice and 1 once: 1 is evicted, and 3 moves to probation
    assert cache.resident.tolist() == [3, 4]
    cache.push([5, 1])  # 4 and then 5 came once: they go. 1 came a second time
    assert cache.resident.tolist() == [3, 1]
    cache.push([1, 6])  # 1 came three times and 3 twice: 1 takes its place
    assert cache.resident.tolist() == [1, 6]


@pytest.mark.parametrize(("protected", "resident"), [(0.8, [1, 2, 5, 6]), (0.5, [2, 4, 5, 6])])
def test_the_protected_are_out_of_reach_of_newcomers(protected, resident):
    # The window holds 4, probation 1 2 3. 1 and 2 are hit, and two of three can be protected. For 5
    # the 4, asked for twice, takes the place of 3, asked for once. For 6 the 5, asked for three
    # times, takes the place of 4, alone on probation; 1 and 2, not used for longer, are safe. If
    # only one can be protected, 2 sends 1 back to probation, behind 3 and before 4: 1 is evicted.
    cache = Lookup(f"wtinylfu:protected={protected}", 4)
    cache.push([1, 2, 3, 4, 1, 2, 4, 5, 5, 5, 6])
    assert cache.resident.tolist() == resident


def test_a_join_counts_arrivals_of_either_side():
    # Row 1 meets row 0, and sends it from the window to probation. Key 1 has come twice, so rows 1
    # and 0 tie for row 2, and row 1 is evicted; key 2 has come twice when row 3 comes: a tie, row 2
    # is evicted; for row 4 key 2 has come three times, so row 3 takes the place of row 0.
    join = Join("wtinylfu", 2, within=100)
    join.push(side=[0, 1, 0, 0], key=[1, 1, 2, 2], time=range(4))
    assert join.held_rows.tolist() == [0, 3]
    join.push(side=[1], key=[2], time=[4])
    assert join.held_rows.tolist() == [3, 4]


@given(rows=streams(ends=True), budget=st.integers(1, 12), shares=SHARES)
def test_joins_as_its_twin(rows, budget, shares):
    assert_same_join("wtinylfu", [rows], budget, params=shares)


@given(
    keys=st.lists(st.integers(0, 15), min_size=40, max_size=200),
    budget=st.integers(1, 12),
    shares=SHARES,
)
def test_caches_as_its_twin(keys, budget, shares):
    assert_same_lookup("wtinylfu", [keys], budget, params=shares)


@pytest.mark.parametrize("budget", [10, 100])
def test_forgets_as_its_twin(budget):
    # 64 or 128 counters a row are halved after 640 or 1280 references, and then sooner
    keys = np.random.default_rng(8).zipf(1.2, 2500) % 500
    cache = assert_same_lookup("wtinylfu", [keys.tolist()], budget, params={"window": 0.2})
    assert cache._states[0].sketch.added[0] < 2500
    assert cache.hits > 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "wtinylfu:window=-0.1",
            "parameter 'window' of policy 'wtinylfu' must be from 0 to 0.999, got -0.1",
        ),
        (
            "wtinylfu:window=1",
            "parameter 'window' of policy 'wtinylfu' must be from 0 to 0.999, got 1.0",
        ),
        (
            "wtinylfu:window=nan",
            "parameter 'window' of policy 'wtinylfu' must be from 0 to 0.999, got nan",
        ),
        (
            "wtinylfu:protected=-0.1",
            "parameter 'protected' of policy 'wtinylfu' must be from 0 to 1, got -0.1",
        ),
        (
            "wtinylfu:protected=1.1",
            "parameter 'protected' of policy 'wtinylfu' must be from 0 to 1, got 1.1",
        ),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)


@pytest.mark.parametrize(
    "text",
    [
        "wtinylfu:window=0",
        "wtinylfu:window=0.999",
        "wtinylfu:protected=0",
        "wtinylfu:protected=1",
    ],
)
def test_the_bounds_themselves_are_allowed(text):
    cache = Lookup(text, 2)
    cache.push([1, 1, 2, 3])
    assert 3 in cache.resident.tolist()
    assert cache.held == 2
