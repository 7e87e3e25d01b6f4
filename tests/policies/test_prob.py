"""PROB: worked cases, the twin under both rules of admission, bad parameters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, assert_same_lookup, streams

ADMIT = st.sampled_from(["always", "compete"])


def test_at_equal_odds_the_newcomer_stays_and_the_oldest_is_evicted():
    # nothing has come on the other side: all have 0, so each newcomer pushes out the oldest
    join = Join("prob", 2, within=100)
    join.push(side=[0, 0, 0, 0], key=[1, 2, 3, 4], time=range(4))
    assert join.held_rows.tolist() == [2, 3]
    assert join.counters["rejected"].tolist() == [0, 0]


def test_a_row_whose_key_never_came_on_the_other_side_is_rejected():
    # rows 0 and 1 score 0. Row 2 (8 came once on side 0) scores 1 and meets row 1, now 1; row 0 is
    # evicted. Row 3 scores 0, less than all: refused. Row 4 scores 1 (8 came once on side 1),
    # as row 1 does, while row 2 has 2 by now: at equal odds the older is evicted.
    join = Join("prob", 2, within=100)
    rows = {"side": [0, 0, 1, 0, 0], "key": [7, 8, 8, 9, 8], "time": range(5)}
    assert join.push(**rows).rows.tolist() == [[1, 2], [4, 2]]
    assert join.counters["rejected"].tolist() == [1, 0]
    assert join.held_rows.tolist() == [2, 4]
    # where newcomers always come in, row 3 pushes out row 1, and is pushed out by row 4
    join = Join("prob:admit=always", 2, within=100)
    assert join.push(**rows).rows.tolist() == [[1, 2], [4, 2]]
    assert join.counters["evicted"].tolist() == [3, 0]
    assert join.held_rows.tolist() == [2, 4]


def test_counts_outlive_the_tuples():
    # 7 came twice on side 1, at times 0 and 1, and is long gone at time 50; row 2 scores 2 for it,
    # row 3 scores 0, so row 4, which scores 0 too, pushes out row 3
    join = Join("prob", 2, within=5)
    join.push(side=[1, 1, 0, 0, 0], key=[7, 7, 7, 8, 9], time=[0, 1, 50, 51, 52])
    assert join.held_rows.tolist() == [2, 4]


def test_a_cache_keeps_what_was_asked_for_most():
    # 1 was asked for twice; the first 2 is refused, the second ties and is let in
    cache = Lookup("prob", 1)
    assert cache.push([1, 1, 2]).hit.tolist() == [False, True, False]
    assert cache.resident.tolist() == [1]
    cache.push([2])
    assert cache.resident.tolist() == [2]
    assert cache.counters["rejected"] == 1


@given(rows=streams(ends=True), budget=st.integers(1, 8), admit=ADMIT)
def test_joins_as_its_twin(rows, budget, admit):
    assert_same_join("prob", [rows], budget, params={"admit": admit})


@given(
    keys=st.lists(st.integers(0, 9), min_size=40, max_size=150),
    budget=st.integers(1, 8),
    admit=ADMIT,
)
def test_caches_as_its_twin(keys, budget, admit):
    assert_same_lookup("prob", [keys], budget, params={"admit": admit})


def test_bad_parameters():
    sentence = "parameter 'admit' of policy 'prob' must be one of always, compete, got 'never'"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join("prob:admit=never", 4)
