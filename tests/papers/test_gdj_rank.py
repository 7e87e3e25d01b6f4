"""GDJ by ranks: worked cases, the twin for every percentile."""

from hypothesis import given
from hypothesis import strategies as st

import papers  # noqa: F401  (makes its policies known)
from penstock.engine import Join, Lookup
from tests.compare import assert_same_join, assert_same_lookup, streams
from tests.policies.test_gdj import PERCENTILES, REFERENCES


def test_a_match_earns_the_rank():
    # All three start with 0. By rank: 1 is hit, nobody is above it: 3. 3 is hit: it and 2 are not
    # above: 2; hit again, still two: 4. 2 is hit twice, alone at the bottom: 1, 2. The lowest is 2.
    # By ones: 1 has 1, the others 2.
    keys = [1, 2, 3, 1, 3, 3, 2, 2, 4]
    by_rank, by_ones = Lookup("gdj_rank", 3), Lookup("gdj", 3)
    by_rank.push(keys)
    by_ones.push(keys)
    assert by_rank.resident.tolist() == [1, 3, 4]
    assert by_ones.resident.tolist() == [2, 3, 4]


def test_a_join_goes_by_rank_too():
    # the same story: rows 0 1 2 are asked for by rows 3 to 7, which live for a moment in a
    # fourth place; row 8 takes that place, and row 9 pushes out the lowest
    # Credits: row 3 comes after its match, with the credit at the bottom, and is gone before the
    # next; so the ranks are those of the caching case.
    join = Join("gdj_rank:percentile=0", 4)
    moments = [3, 4, 5, 6, 7]
    join.push(
        side=[0, 0, 0, 1, 1, 1, 1, 1, 0, 0],
        key=[1, 2, 3, 1, 3, 3, 2, 2, 4, 5],
        time=range(10),
        end=[99, 99, 99, *moments, 99, 99],
    )
    # row 8 started with 2, like row 1, but later
    assert join.held_rows.tolist() == [0, 2, 8, 9]


@given(rows=streams(ends=True), budget=st.integers(1, 8), percentile=PERCENTILES)
def test_joins_as_its_twin(rows, budget, percentile):
    assert_same_join("gdj_rank", [rows], budget, params={"percentile": percentile})


@given(keys=REFERENCES, budget=st.integers(1, 8), percentile=PERCENTILES)
def test_caches_as_its_twin(keys, budget, percentile):
    assert_same_lookup("gdj_rank", [keys], budget, params={"percentile": percentile})
