"""Dominance: what it means, that HEEB agrees with it, and that an optimum does."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .dominance import comparable, dominates, safe_to_discard, strongly_dominates
from .flowexpect import adaptive_choices
from .heeb import caching_gains, ecb, exponential, fixed, inverse, joining_gains, score_of_gains
from .models import Trend, uniform

GAINS = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5]), min_size=4, max_size=4)


def test_dominance():
    assert dominates([1, 2], [1, 1])
    assert not strongly_dominates([1, 2], [1, 1])
    assert strongly_dominates([2, 2], [1, 1])
    assert not comparable([1, 3], [2, 2])


def test_figure_2():
    # w above all, x early and z late gains, y below both: as in section 5.2
    w, x, y, z = [9, 9, 9], [3, 4, 4], [1, 1, 1], [1, 3, 6]
    assert safe_to_discard([w, x, y, z], 3) == {1, 2, 3}
    assert safe_to_discard([w, x, y, z], 2) == {2}
    assert safe_to_discard([w, x, z], 1) == set()


@given(a=GAINS, b=GAINS)
def test_theorem_2_scores_agree_with_dominance(a, b):
    for lifetime in (fixed(2), inverse(), exponential(3.0)):
        x, y = score_of_gains(a, lifetime), score_of_gains(b, lifetime)
        if dominates(ecb(a), ecb(b)):
            assert x >= y - 1e-12
        if strongly_dominates(ecb(a), ecb(b)):
            assert x > y


LAW = st.sampled_from([{1: 0.5, 2: 0.5}, {1: 1.0}, {2: 0.75, 3: 0.25}, {3: 1.0}, {}])


@settings(max_examples=30)
@given(
    now=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    later=st.lists(st.tuples(LAW, LAW), min_size=1, max_size=2),
    held=st.tuples(st.integers(0, 1), st.integers(1, 3)),
    memory=st.integers(1, 2),
)
def test_corollary_2_some_optimum_discards_the_dominated(now, later, held, memory):
    candidates = [held, (0, now[0]), (1, now[1])]
    gains = [[step[1 - side].get(v, 0.0) for step in later] for side, v in candidates]
    discarded = safe_to_discard([ecb(g) for g in gains], surplus=3 - memory)
    left = Counter(candidates) - Counter(candidates[i] for i in discarded)
    steps = (tuple({v: 1.0} for v in now), *later)
    found = list(adaptive_choices([(held[0], {held[1]: 1.0})], steps, memory))
    top = max(benefit for benefit, _ in found)
    optima = [kept for benefit, kept in found if benefit >= top - 1e-12]
    assert any(Counter((side, v) for side, (v,) in kept) <= left for kept in optima)


# Section 7.3: trends of slope 1, noise uniform over [-2, 2] for R and [-4, 4] for S, at time 0

R, S, NOW, AHEAD = Trend(1, 0, uniform(2)), Trend(1, 0, uniform(4)), 0, 12


def waiting(model, v):
    return ecb(joining_gains(model, v, NOW, 0, AHEAD))


def test_what_the_window_has_passed_is_worth_nothing():
    assert set(waiting(S, -4)) == {0} == set(waiting(R, -2))  # categories R1 and S1
    assert waiting(S, -3)[0] > 0
    assert waiting(R, -1)[0] > 0


def test_within_a_category_the_smaller_value_is_evicted():
    for model, values in ((S, range(-4, 3)), (R, range(-2, 4))):
        for low, high in pairwise(values):
            assert dominates(waiting(model, high), waiting(model, low))


def test_an_r_tuple_never_dominates_a_living_s_tuple():
    # The paper says that B_x of R2 dominates B_y of S2 when its total is larger. But S2 gains at
    # the higher rate from the first step: it is B_y that dominates, when *its* total is.
    for vx in range(-3, 3):
        for vy in range(-1, 4):
            x, y = waiting(S, vx), waiting(R, vy)
            assert not dominates(x, y)
            assert dominates(y, x) == (round((vy + 2) / 5 - (vx + 4) / 9, 9) >= 0)


def test_a_value_ahead_of_the_window_may_be_incomparable():
    # category S3: nothing now, much later
    assert waiting(R, 4)[0] == 0 < waiting(S, -3)[0]
    assert not comparable(waiting(R, 4), waiting(S, -3))


def test_a_cache_keeps_the_largest_values():
    # by every L: all ECBs are comparable
    values = range(-3, 3)
    ecbs = [ecb(caching_gains(R, v, NOW, 0, AHEAD)) for v in values]
    for low, high in pairwise(ecbs):
        assert dominates(high, low)


def test_a_cached_value_gains_until_the_window_has_passed():
    # the window of R is beyond 0 at time 3 (t_x in the paper): two more steps may bring it. The
    # paper's first case goes on to t_x - t0; its second case, t_x - t0 - 1, is right.
    missed = 1 - 1 / 5
    expected = [1 - missed, 1 - missed**2, 1 - missed**2, 1 - missed**2]
    assert ecb(caching_gains(R, 0, NOW, 0, 4)) == pytest.approx(expected)
