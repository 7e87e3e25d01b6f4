"""AGE: worked cases with a given and with a learned age, the twin for both, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from tests.compare import assert_same_join, listed, push_rows, streams


def test_the_oldest_stays_until_it_has_reached_the_age():
    # row 1 comes when row 0 is 2 old and is refused; row 2 comes when it is 3 old: row 0 is evicted
    join = Join("age:k=3", 1, within=100)
    join.push(side=[0, 0], key=[1, 2], time=[0, 2])
    assert join.held_rows.tolist() == [0]
    join.push(side=[0], key=[3], time=[3])
    assert join.held_rows.tolist() == [2]
    assert join.counters["rejected"].tolist() == [1, 0]


def test_the_age_is_learned_from_when_matches_come():
    # Every 10 units a tuple comes on side 0, and its partner 3 units later; until something is
    # learned the oldest is evicted, here at the age of 13. Partners live for a moment, and have
    # expired when the next tuple comes. So at the 1024th arrival it is known: one match per life,
    # at the age of 3. That age lies in the bin from 3 to 5, and the best age is where that bin
    # ends.
    pairs = np.arange(512)
    join = Join("age", 2)
    join.push(
        side=np.tile([0, 1], 512),
        key=np.repeat(pairs, 2),
        time=(10 * pairs[:, None] + [0, 3]).ravel(),
        end=(10 * pairs[:, None] + [500, 3]).ravel(),
    )
    assert join.results == 512
    # what lies there now came at 5110; next to it row 1024 comes at 5120
    join.push(side=[0], key=[900], time=[5120], end=[5999])
    # at 5121 the oldest is 11 old and is evicted; at 5124 row 1024 is only 4 old; at 5125 it is 5
    join.push(side=[0, 0, 0], key=[901, 902, 903], time=[5121, 5124, 5125], end=[5999] * 3)
    assert join.held_rows.tolist() == [1025, 1027]
    assert join.counters["rejected"].tolist() == [1, 0]


@given(rows=streams(ends=True), budget=st.integers(1, 8))
def test_the_age_of_0_is_fifo(rows, budget):
    age, fifo = Join("age:k=0", budget), Join("fifo", budget)
    if rows:
        assert listed(push_rows(age, rows)) == listed(push_rows(fifo, rows))
    assert age.held_rows.tolist() == fifo.held_rows.tolist()


@given(rows=streams(), budget=st.integers(1, 8), k=st.integers(0, 20))
def test_joins_as_its_twin_with_a_given_age(rows, budget, k):
    assert_same_join("age", [rows], budget, params={"k": k}, within=15)


@pytest.mark.parametrize("seed", [1, 2])
def test_learns_as_its_twin(seed):
    # keys drift upward; most of side 1 lag 26 behind, so side 0 is matched at about that age, and
    # must be kept for longer than 30 places allow: newcomers are refused
    random = np.random.default_rng(seed)
    n = 4000
    side = random.integers(0, 2, n)
    lag = 26 * side * (random.random(n) < 0.9)
    key = np.arange(n) - lag + random.integers(0, 3, n)
    rows = [
        {"stream": int(s), "keys": (int(k),), "time": at}
        for at, (s, k) in enumerate(zip(side, key))
    ]
    batches = [rows[at : at + 500] for at in range(0, n, 500)]
    join = assert_same_join("age", batches, 30, restore=True, within=300)
    assert join._states[0].best[0] > 26
    assert sum(join.counters["rejected"]) > 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("age:k=-1", "parameter 'k' of policy 'age' must be from 0 to 4.61169e+18, got -1"),
        ("age:k=2.5", "parameter 'k' of policy 'age' must be of type int, got '2.5'"),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)


def test_none_is_to_learn():
    assert Join("age:k=none", 4)._states[0].learning.all()
    assert not Join("age:k=0", 4)._states[0].learning.any()


def test_is_not_defined_for_caching():
    with pytest.raises(
        BadInput, match=r"^policy 'age' is not defined for caching; choose one of rand"
    ):
        Lookup("age:k=3", 4)
