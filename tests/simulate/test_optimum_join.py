from functools import cache
from itertools import combinations, groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.simulate.drifting import roof
from penstock.simulate.optimum import most_results
from tests.naive.offline import opt_join
from tests.simulate.rows import columns, matches, streams

STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def best_by_trying(rows, budget, together, first):
    """Try everything that can be kept after every decision."""
    pairs = set(matches(rows, together))
    numbers = range(len(rows))
    if together:
        groups = [list(group) for _, group in groupby(numbers, key=lambda i: rows[i].time)]
    else:
        groups = [[i] for i in numbers]

    @cache
    def best(step, held):
        if step == len(groups):
            return 0
        new = groups[step]
        gained = sum((i, j) in pairs for i in held for j in new if j >= first)
        useful = [i for i in (*held, *new) if any(a == i and b > new[-1] for a, b in pairs)]
        kept = combinations(useful, min(budget, len(useful)))
        return gained + max(best(step + 1, choice) for choice in kept)

    return best(0, ())


def test_one_place_holds_the_tuple_with_two_matches():
    # 7 will match twice, 8 once and sooner
    assert most_results([0, 0, 1, 1, 1], [7, 8, 8, 7, 7], [0, 1, 2, 3, 4], budget=1) == 2
    assert most_results([0, 0, 1, 1, 1], [7, 8, 8, 7, 7], [0, 1, 2, 3, 4], budget=2) == 3


def test_a_place_is_free_again_at_the_last_match():
    # the row that is matched last may be taken in at once by the one that matches it
    assert most_results([0, 1, 0], [7, 7, 7], [0, 1, 2], budget=1) == 2


def test_a_later_tuple_that_ends_sooner_is_not_mistaken_for_the_earlier_one():
    # two alike arrive; only the first one lives until both matches, and both can be held
    side, key, time, end = [0, 0, 1, 1], [7, 7, 7, 7], [0, 1, 2, 9], [9, 2, 9, 9]
    assert most_results(side, key, time, end, budget=2) == 3
    assert most_results(side, key, time, end, budget=1) == 2


def test_the_warm_up_is_not_worth_a_place():
    # before row 3 key 8 would match twice, but only key 7 matches after it
    side, key, time = [0, 0, 1, 1, 1], [7, 8, 8, 8, 7], [0, 1, 2, 3, 4]
    assert most_results(side, key, time, budget=1) == 2
    assert most_results(side, key, time, budget=1, first=4) == 1


def test_nothing_to_gain():
    assert most_results([0, 0, 1], [1, 2, 3], [0, 1, 2], budget=5) == 0
    nothing = np.empty(0, np.int64)
    assert most_results(nothing, nothing, nothing, budget=5) == 0


def test_a_memory_has_a_size():
    with pytest.raises(BadInput, match=r"budget must be .* at least 1, got 0"):
        most_results([0, 1], [7, 7], [0, 1], budget=0)


@given(steps=STEPS, budget=st.integers(1, 3))
def test_agrees_with_the_twin(steps, budget):
    groups = [[(0, r), (1, s)] for r, s in steps]
    side, key = np.tile([0, 1], len(steps)), np.array(steps, np.int64).reshape(-1)
    time = np.repeat(np.arange(len(steps)), 2)
    assert most_results(side, key, time, budget=budget, together=True) == opt_join(groups, budget)


@given(
    rows=streams(most=11, keys=2),
    budget=st.integers(1, 3),
    together=st.booleans(),
    first=st.integers(0, 6),
)
def test_agrees_with_trying_everything(rows, budget, together, first):
    got = most_results(*columns(rows), budget=budget, together=together, first=first)
    assert got == best_by_trying(rows, budget, together, first)


@given(rows=streams(most=40), together=st.booleans())
def test_a_memory_for_all_gets_all(rows, together):
    pairs = matches(rows, together)
    assert most_results(*columns(rows), budget=40, together=together) == len(pairs)


@given(
    rows=streams(most=60),
    name=st.sampled_from(["rand", "lru", "fifo"]),
    budget=st.integers(1, 4),
    together=st.booleans(),
)
def test_no_join_beats_it(rows, name, budget, together):
    join = Join(name, budget, together=together)
    side, key, time, end = columns(rows)
    join.push(side, key, time, end=end, emit=False)
    assert join.results <= most_results(side, key, time, end, budget=budget, together=together)


def test_more_memory_never_hurts():
    trace = roof(300, seed=3)
    rows = trace.side, trace.key, trace.time, np.maximum(trace.end, trace.time)
    got = [most_results(*rows, budget=k, together=True) for k in (1, 2, 4, 8, 16, 32)]
    assert got == sorted(got)
