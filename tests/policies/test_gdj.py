"""GDJ: worked cases, the twin for every percentile, bad parameters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

PERCENTILES = st.one_of(st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.floats(0, 1))
REFERENCES = st.lists(st.integers(0, 9), min_size=40, max_size=150)


@pytest.mark.parametrize(("percentile", "resident"), [(0.5, [3, 4, 5]), (0.0, [2, 4, 5])])
def test_a_newcomer_starts_at_the_percentile(percentile, resident):
    # 1 is hit twice: 2. 2 starts with 2, all there is, and is hit three times: 5.
    # Half of [2, 5] is the 5, so 3 starts with 5; 4 pushes out 1 and starts with 5 too; 5 pushes
    # out 2, which came to 5 before the others did.
    # From the bottom, 3 starts with 2; 4 pushes out 1, which came to 2 before 3 did, and starts
    # with 2; so 5 pushes out 3.
    cache = Lookup(f"gdj:percentile={percentile}", 3)
    cache.push([1, 1, 1, 2, 2, 2, 2, 3, 4, 5])
    assert cache.resident.tolist() == resident


def test_who_came_to_a_credit_first_goes_first():
    # row 2 meets row 0, which has 1; row 1 has 0 and goes; row 2 starts with 1. Rows 0 and 2 tie,
    # and row 0 was there first, so row 3 pushes it out, though it is the only one ever matched.
    join = Join("gdj", 2, within=100)
    join.push(side=[0, 0, 1, 1], key=[7, 8, 7, 9], time=range(4))
    assert join.held_rows.tolist() == [2, 3]


@given(rows=streams(ends=True), budget=st.integers(1, 8), percentile=PERCENTILES)
def test_joins_as_its_twin(rows, budget, percentile):
    assert_same_join("gdj", [rows], budget, params={"percentile": percentile})


@given(keys=REFERENCES, budget=st.integers(1, 8), percentile=PERCENTILES)
def test_caches_as_its_twin(keys, budget, percentile):
    assert_same_lookup("gdj", [keys], budget, params={"percentile": percentile})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "gdj:percentile=-0.01",
            "parameter 'percentile' of policy 'gdj' must be from 0 to 1, got -0.01",
        ),
        (
            "gdj:percentile=1.01",
            "parameter 'percentile' of policy 'gdj' must be from 0 to 1, got 1.01",
        ),
        (
            "gdj:percentile=nan",
            "parameter 'percentile' of policy 'gdj' must be from 0 to 1, got nan",
        ),
        (
            "gdj:percentile=automatic",
            "parameter 'percentile' of policy 'gdj' must be of type float or auto, got 'automatic'",
        ),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)


@pytest.mark.parametrize("text", ["gdj:percentile=0", "gdj:percentile=1"])
def test_the_bounds_themselves_are_allowed(text):
    cache = Lookup(text, 2)
    cache.push([1, 2, 3])
    assert cache.resident.tolist() == [2, 3]
