"""GDJ: worked cases, the twin for every method and percentile, bad parameters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams, in_pairs
from tests.compare import assert_same_join, assert_same_lookup, cut, listed, push_rows, streams

PERCENTILES = st.one_of(st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.floats(0, 1))
REFERENCES = st.lists(st.integers(0, 9), min_size=40, max_size=150)
THREE = (((0, 0), (1, 1), (2, 0)),)  # one join, on unlike attributes


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


def test_the_first_with_a_credit_is_evicted_first():
    # row 2 meets row 0, which has 1; row 1 has 0 and is evicted; row 2 starts with 1. Rows 0 and 2
    # tie, and row 0 was there first, so row 3 pushes it out, though it is the only one ever
    # matched.
    join = Join("gdj", 2, within=100)
    join.push(side=[0, 0, 1, 1], key=[7, 8, 7, 9], time=range(4))
    assert join.held_rows.tolist() == [2, 3]


def test_method_2_credits_the_rank():
    # All three start with 0. By rank: 1 is hit, none is above it: 3. 3 is hit: it and 2 are not
    # above: 2; hit again, still two: 4. 2 is hit twice, alone at the bottom: 1, 2. The lowest is 2.
    # By ones: 1 has 1, the others 2.
    keys = [1, 2, 3, 1, 3, 3, 2, 2, 4]
    by_rank, by_ones = Lookup("gdj:method=2", 3), Lookup("gdj:method=1", 3)
    by_rank.push(keys)
    by_ones.push(keys)
    assert by_rank.resident.tolist() == [1, 3, 4]
    assert by_ones.resident.tolist() == [2, 3, 4]


def test_method_2_joins_by_rank_too():
    # the same story: rows 0 1 2 are asked for by rows 3 to 7, which live for a moment in a
    # fourth place; row 8 takes that place, and row 9 pushes out the lowest
    # Credits: row 3 comes after its match, with the credit at the bottom, and is gone before the
    # next; so the ranks are those of the caching case.
    join = Join("gdj:method=2,percentile=0", 4)
    moments = [3, 4, 5, 6, 7]
    join.push(
        side=[0, 0, 0, 1, 1, 1, 1, 1, 0, 0],
        key=[1, 2, 3, 1, 3, 3, 2, 2, 4, 5],
        time=range(10),
        end=[99, 99, 99, *moments, 99, 99],
    )
    # row 8 started with 2, like row 1, but later
    assert join.held_rows.tolist() == [0, 2, 8, 9]


@given(
    rows=streams(ends=True),
    budget=st.integers(1, 8),
    method=st.integers(1, 3),
    percentile=PERCENTILES,
)
def test_joins_as_its_twin(rows, budget, method, percentile):
    params = {"method": method, "percentile": percentile}
    assert_same_join("gdj", [rows], budget, params=params)


@given(keys=REFERENCES, budget=st.integers(1, 8), method=st.integers(1, 3), percentile=PERCENTILES)
def test_caches_as_its_twin(keys, budget, method, percentile):
    params = {"method": method, "percentile": percentile}
    assert_same_lookup("gdj", [keys], budget, params=params)


@pytest.mark.parametrize(("credit", "held"), [("results", [1, 2]), ("parts", [0, 2])])
def test_a_part_of_a_result_earns_where_it_is_asked_to(credit, held):
    # Rows 0 and 1 have nothing. Row 2 has the key of row 0, but a third stream has none yet: no
    # result, a part of one. Row 2 pushes out the lowest, the first of equals.
    join = Join(f"gdj:credit={credit}", 2, joins=all_streams(3))
    join.push(side=[0, 0, 1], key=[7, 8, 7], time=range(3))
    assert join.results == 0
    assert join.held_rows.tolist() == held


@given(
    data=st.data(),
    budget=st.integers(1, 12),
    method=st.integers(1, 3),
    percentile=PERCENTILES,
)
def test_parts_earn_as_in_its_twin(data, budget, method, percentile):
    batches = data.draw(cut(data.draw(streams(count=3, attributes=2, keys=3, most=60))))
    params = {"credit": "parts", "method": method, "percentile": percentile}
    options = {"joins": THREE, "attributes": 2, "within": 12, "restore": True}
    assert_same_join("gdj", batches, budget, params=params, **options)


@given(rows=streams(), budget=st.integers(1, 8))
def test_of_two_streams_every_part_is_a_result(rows, budget):
    results, parts = (Join(f"gdj:credit={each}", budget) for each in ("results", "parts"))
    for join in (results, parts):
        push_rows(join, rows)
    assert results.held_rows.tolist() == parts.held_rows.tolist()


@pytest.mark.parametrize("joins", [in_pairs(4), (*THREE, ((0, 1), (1, 0))), all_streams(3, 2)])
def test_parts_earn_in_one_join_of_all_streams(joins):
    if max(map(len, joins)) == 2:
        Join("gdj:credit=parts", 4, joins=joins)
        return
    with pytest.raises(BadInput, match="may be 'parts' where one join has all streams"):
        Join("gdj:credit=parts", 4, joins=joins)


def test_a_state_that_was_saved_before_parts_could_earn_is_read():
    join = Join("gdj", 2, within=100)
    join.push(side=[0, 0, 1], key=[7, 8, 7], time=range(3))
    saved = {k: v for k, v in join.save().items() if ".peers." not in k and ".column" not in k}
    assert len(saved) < len(join.save())
    again = Join.restore(saved)
    for each in (join, again):
        each.push(side=[1], key=[9], time=[3])
    assert again.held_rows.tolist() == join.held_rows.tolist() == [2, 3]


@given(rows=streams(), budget=st.integers(1, 8), percentile=PERCENTILES)
def test_method_3_decides_as_method_1(rows, budget, percentile):
    one = Join(f"gdj:method=1,percentile={percentile}", budget, within=15)
    three = Join(f"gdj:method=3,percentile={percentile}", budget, within=15)
    for row in rows:
        assert listed(push_rows(one, [row])) == listed(push_rows(three, [row]))
        assert one.held_rows.tolist() == three.held_rows.tolist()


def test_method_2_decides_otherwise():
    """Else the test above would say nothing."""
    keys = [1, 2, 3, 1, 3, 3, 2, 2, 4]
    caches = [Lookup(f"gdj:method={method}", 3) for method in (1, 2, 3)]
    for cache in caches:
        cache.push(keys)
    one, two, three = (cache.resident.tolist() for cache in caches)
    assert one == three != two


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
        ("gdj:method=auto", "parameter 'method' of policy 'gdj' must be of type int, got 'auto'"),
        ("gdj:method=0", "parameter 'method' of policy 'gdj' must be one of 1, 2, 3, got '0'"),
        ("gdj:method=4", "parameter 'method' of policy 'gdj' must be one of 1, 2, 3, got '4'"),
        (
            "gdj:credit=both",
            "parameter 'credit' of policy 'gdj' must be one of results, parts, got 'both'",
        ),
        ("gdj:method=1.5", "parameter 'method' of policy 'gdj' must be of type int, got '1.5'"),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)


@pytest.mark.parametrize("text", ["gdj:percentile=0", "gdj:percentile=1", "gdj:method=3"])
def test_the_bounds_themselves_are_allowed(text):
    cache = Lookup(text, 2)
    cache.push([1, 2, 3])
    assert cache.resident.tolist() == [2, 3]
