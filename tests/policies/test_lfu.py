"""LFU: worked cases, the twin for every way to count and to admit, bad parameters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

PARAMS = st.fixed_dictionaries(
    {"perfect": st.booleans(), "admit": st.sampled_from(["always", "compete"])}
)


def test_perfect_remembers_the_keys_sent_away_and_in_cache_forgets_them():
    # 3 pushes out 1 (asked for twice; 2 three times). 1 comes back and pushes out 3.
    # Perfect: 1 has now three like 2, and was used later, so 4 pushes out 2.
    # In-cache: 1 begins anew with one, so 4 pushes out 1.
    keys = [1, 1, 2, 2, 2, 3, 1, 4]
    perfect, forgetful = Lookup("lfu", 2), Lookup("lfu:perfect=no", 2)
    hits = [False, True, False, True, True, False, False, False]
    assert perfect.push(keys).hit.tolist() == forgetful.push(keys).hit.tolist() == hits
    assert perfect.resident.tolist() == [1, 4]
    assert forgetful.resident.tolist() == [2, 4]


def test_among_equals_the_least_recently_used_is_evicted():
    # 1 and 2 have two references each; in the first case 1 was used before 2, then 2 before 1
    for keys, stays in (([2, 1, 1, 2, 3], 2), ([2, 1, 2, 1, 3], 1)):
        for policy in ("lfu", "lfu:perfect=no"):
            cache = Lookup(policy, 2)
            cache.push(keys)
            assert set(cache.resident.tolist()) == {stays, 3}


def test_a_newcomer_may_have_to_compete():
    # 1 was asked for twice. The first 2 has one reference and is refused; the second has two, a
    # tie, and is let in, so the third is a hit. Without memory every newcomer has one reference,
    # and is refused for ever. Where nothing competes, the second 2 is a hit already.
    for policy, hits, rejected in (
        ("lfu:admit=compete", ".h..h", 1),
        ("lfu:admit=compete,perfect=no", ".h...", 3),
        ("lfu", ".h.hh", 0),
    ):
        cache = Lookup(policy, 1)
        said = "".join("h" if hit else "." for hit in cache.push([1, 1, 2, 2, 2]).hit)
        assert said == hits
        assert cache.counters["rejected"] == rejected


def test_a_join_counts_what_the_other_side_asked_for():
    # rows 0 and 1 have score 0. Row 2 asks for 7: row 0 has 1, row 2 itself 1 (7 came once on the
    # other side); row 1 is evicted. Row 3 scores 0 and comes in all the same; rows 0 and 2 tie at
    # 1, and row 0 was used before row 2 came in. Row 4 asks for 7: row 2 has 2; row 3 with 0 is
    # evicted.
    join = Join("lfu", 2, within=100)
    rows = {"side": [0, 0, 1, 1, 0], "key": [7, 8, 7, 9, 7], "time": range(5)}
    assert join.push(**rows).rows.tolist() == [[0, 2], [4, 2]]
    assert join.held_rows.tolist() == [2, 4]
    # where newcomers compete, row 3 is refused, and row 4 ties with row 0
    join = Join("lfu:admit=compete", 2, within=100)
    assert join.push(**rows).rows.tolist() == [[0, 2], [4, 2]]
    assert join.counters["rejected"].tolist() == [0, 1]
    assert join.held_rows.tolist() == [2, 4]


@given(rows=streams(), budget=st.integers(1, 8), params=PARAMS)
def test_joins_as_its_twin(rows, budget, params):
    assert_same_join("lfu", [rows], budget, params=params, within=15)


@given(
    keys=st.lists(st.integers(0, 9), min_size=40, max_size=150),
    budget=st.integers(1, 8),
    params=PARAMS,
)
def test_caches_as_its_twin(keys, budget, params):
    assert_same_lookup("lfu", [keys], budget, params=params)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "lfu:admit=Always",
            "parameter 'admit' of policy 'lfu' must be one of always, compete, got 'Always'",
        ),
        ("lfu:perfect=2", "parameter 'perfect' of policy 'lfu' must be of type bool, got '2'"),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)
