"""LIFE: worked cases, the twin, also where it draws a sample, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from penstock.kernel.slots import FOREVER
from tests.compare import assert_same_join, streams
from tests.marks import some

ADMIT = st.sampled_from(["always", "compete"])


def test_a_likely_tuple_is_evicted_when_its_time_is_short():
    # 7 comes once and 8 twice on side 1 (rows 2 to 4, which live for a moment only). At time 10 row
    # 0 scores 1 x 3, row 1 scores 2 x 1, row 5 scores 0 x 90. Row 6 scores 1 x 1: row 5 is evicted,
    # worthless for all its time. Row 7 scores 1 x 2: row 6 is evicted, with 1 the lowest. Row 8
    # scores 2 x 1, as rows 1 and 7 do: the oldest of the three is evicted, which is row 1 and not
    # row 0, though 7 is less likely than 8.
    join = Join("life", 3)
    join.push(
        side=[0, 0, 1, 1, 1, 0, 0, 0, 0],
        key=[7, 8, 7, 8, 8, 9, 7, 7, 8],
        time=[0, 0, 1, 2, 3, 10, 10, 10, 10],
        end=[12, 10, 1, 2, 3, 99, 10, 11, 10],
    )
    assert join.held_rows.tolist() == [0, 7, 8]
    assert join.counters["rejected"].tolist() == [0, 0]


def test_scores_fall_as_time_goes_by():
    # both keys came once on side 1. Row 2 (until 20) is worth more than row 3 (until 10) at any
    # time; a newcomer of 4 moments is refused at time 5 (4 < 6) and let in at time 8 (4 > 3)
    join = Join("life", 2)
    join.push(side=[1, 1, 0, 0], key=[7, 8, 7, 8], time=[0, 0, 1, 1], end=[0, 0, 20, 10])
    join.push(side=[0], key=[7], time=[5], end=[8])
    assert join.held_rows.tolist() == [2, 3]
    join.push(side=[0], key=[7], time=[8], end=[11])
    assert join.held_rows.tolist() == [2, 5]


def test_always_lets_in_even_the_worthless():
    rows = {"side": [1, 0, 0], "key": [7, 7, 9], "time": [0, 1, 2]}
    compete, always = Join("life", 1, within=10), Join("life:admit=always", 1, within=10)
    compete.push(**rows)
    always.push(**rows)
    # row 1 scores 1 x 11 against 0 x 11 of row 0, which is evicted; row 2 scores 0
    assert compete.held_rows.tolist() == [1]
    assert always.held_rows.tolist() == [2]


@given(rows=streams(ends=True), budget=st.integers(1, 8), admit=ADMIT)
def test_joins_as_its_twin(rows, budget, admit):
    assert_same_join("life", [rows], budget, params={"admit": admit})


@pytest.mark.parametrize("admit", some(["always", "compete"], ["compete"]))
def test_samples_a_large_memory_as_its_twin(admit):
    random = np.random.default_rng(6)
    n, budget = 1600, 1100
    rows = [
        {"stream": int(stream), "keys": (int(key),), "time": at, "end": at + 2000 + int(more)}
        for at, (stream, key, more) in enumerate(
            zip(random.integers(0, 2, n), random.zipf(1.4, n) % 200, random.integers(0, 2000, n))
        )
    ]
    join = assert_same_join("life", [rows], budget, params={"admit": admit}, seed=3)
    assert join.held == budget
    assert sum(join.counters["evicted"]) > 100


def test_a_tuple_that_never_expires_has_the_most_time_left():
    # 7 came once on side 1; at time 0 row 1 has for ever, row 2 has 4 moments and row 3 has 3
    join = Join("life", 2)
    ends = [-5, FOREVER, 3, 2]
    join.push(side=[1, 0, 0, 0], key=[7, 7, 7, 7], time=[-5, 0, 0, 0], end=ends)
    assert join.held_rows.tolist() == [1, 2]


def test_bad_parameters():
    sentence = "parameter 'admit' of policy 'life' must be one of always, compete, got 'yes'"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join("life:admit=yes", 4, within=3)


def test_needs_a_window():
    join = Join("life", 4)
    with pytest.raises(BadInput, match=r"^policy 'life' .*; pass within=, or end= with the rows$"):
        join.push(side=[0], key=[1], time=[0])
    assert len(join.push(side=[0], key=[1], time=[0], end=[5]).rows) == 0
    assert join.held == 1


def test_is_not_defined_for_caching():
    with pytest.raises(
        BadInput, match=r"^policy 'life' is not defined for caching; choose one of rand"
    ):
        Lookup("life", 4)
