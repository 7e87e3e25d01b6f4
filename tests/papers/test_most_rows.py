"""The most rows that can be matched: worked cases, and against trying everything."""

from functools import cache
from itertools import combinations, groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.most_rows import most_rows
from penstock.engine import Join
from penstock.errors import BadInput
from penstock.simulate.optimum import most_results
from tests.simulate.rows import columns, matches, streams


def best_by_trying(rows, budget, together, first):
    """Try everything that can be kept after every decision; matched rows are told by number."""
    pairs = set(matches(rows, together))
    numbers = range(len(rows))
    if together:
        groups = [list(group) for _, group in groupby(numbers, key=lambda i: rows[i].time)]
    else:
        groups = [[i] for i in numbers]

    @cache
    def best(step, held, matched):
        if step == len(groups):
            return sum(row >= first for row in matched)
        new = groups[step]
        met = {(i, j) for i in held for j in new if (i, j) in pairs}
        matched |= {row for pair in met for row in pair}
        useful = [i for i in (*held, *new) if any(a == i and b > new[-1] for a, b in pairs)]
        kept = combinations(useful, min(budget, len(useful)))
        return max(best(step + 1, choice, matched) for choice in kept)

    return best(0, (), frozenset())


def test_a_row_counts_once():
    # held until the end row 0 is in three results: four rows; rows 0 and 1 together match four
    side, key = [0, 0, 1, 1, 1], [7, 8, 7, 7, 7]
    assert most_rows(side, key, range(5), budget=1) == 4
    assert most_rows([0, 0, 1, 1], [7, 8, 7, 8], range(4), budget=1) == 2
    assert most_rows([0, 0, 1, 1], [7, 8, 7, 8], range(4), budget=2) == 4


def test_a_place_may_pass_from_one_tuple_to_the_next_of_its_key():
    # row 2 takes over from row 0, which has matched; held instead, row 0 would end too soon
    side, key, time, end = [0, 1, 0, 1], [7, 7, 7, 7], [0, 1, 2, 9], [5, 5, 11, 11]
    assert most_rows(side, key, time, end, budget=1) == 4


def test_the_warm_up_is_not_worth_a_place():
    # row 0 or row 1 can be held: row 1 finds more rows, but only one of these counts
    side, key, time = [0, 0, 1, 1, 1], [7, 8, 8, 8, 7], [0, 1, 2, 3, 4]
    assert most_rows(side, key, time, budget=1) == 3
    assert most_rows(side, key, time, budget=1, first=4) == 1


def test_nothing_to_gain():
    assert most_rows([0, 0, 1], [1, 2, 3], [0, 1, 2], budget=5) == 0
    nothing = np.empty(0, np.int64)
    assert most_rows(nothing, nothing, nothing, budget=5) == 0


def test_a_memory_has_a_size():
    with pytest.raises(BadInput, match="budget must be at least 1, got 0"):
        most_rows([0, 1], [7, 7], [0, 1], budget=0)


@given(
    rows=streams(most=11, keys=2),
    budget=st.integers(1, 3),
    together=st.booleans(),
    first=st.integers(0, 6),
)
def test_agrees_with_trying_everything(rows, budget, together, first):
    options = {"budget": budget, "together": together, "first": first}
    best = best_by_trying(rows, budget, together, first)
    assert most_rows(*columns(rows), **options) == best
    assert most_rows(*columns(rows), **options, relaxed=True) >= best


@given(rows=streams(most=40), together=st.booleans())
def test_a_memory_for_all_matches_all(rows, together):
    matched = {row for pair in matches(rows, together) for row in pair}
    assert most_rows(*columns(rows), budget=40, together=together) == len(matched)


@pytest.mark.slow
@given(
    rows=streams(most=60),
    name=st.sampled_from(["rand", "lru", "fifo"]),
    goal=st.sampled_from(["pairs", "rows"]),
    budget=st.integers(1, 4),
    together=st.booleans(),
)
def test_no_join_beats_it(rows, name, goal, budget, together):
    join = Join(name, budget, together=together, goal=goal)
    side, key, time, end = columns(rows)
    join.push(side, key, time, end=end, emit=False)
    most = most_rows(side, key, time, end, budget=budget, together=together)
    assert join.rows_matched <= most
    if most == 0:
        assert most_results(side, key, time, end, budget=budget, together=together) == 0
