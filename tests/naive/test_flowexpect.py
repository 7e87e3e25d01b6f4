"""FLOWEXPECT by listing: the paper's example, and what must hold of it in general."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .flowexpect import (
    EXAMPLE_HELD,
    EXAMPLE_STEPS,
    adaptive,
    adaptive_choices,
    flow_expect,
    joins,
    sequences,
    steps_ahead,
)
from .models import Trend, Walk
from .offline import opt_join


def name(t):
    """Return side and possible values, as R1 or S3; a tuple that joins nothing is R or S."""
    side, law = t
    return "RS"[side] + "".join(map(str, law))


def test_the_three_best_predetermined_sequences():
    found = sequences(EXAMPLE_HELD, EXAMPLE_STEPS, memory=1)
    benefits = {" ".join(name(one) for (one,) in kept): benefit for benefit, kept in found}
    assert benefits["R1 R1 R1"] == pytest.approx(1.6)
    assert benefits["S2 S2 S2"] == pytest.approx(1.5)
    # the paper dates the second gain t0 + 3, but R brings the 3 at t0 + 2
    assert benefits["S2 S3 S3"] == pytest.approx(1.5)
    assert sorted(set(benefits.values()))[-2:] == pytest.approx([1.5, 1.6])


def test_flow_expect_keeps_the_wrong_tuple():
    benefit, (kept,) = flow_expect(EXAMPLE_HELD, EXAMPLE_STEPS, memory=1)
    assert benefit == pytest.approx(1.6)
    assert name(kept) == "R1"


def test_adaptive_decisions_gain_more():
    found = adaptive_choices(EXAMPLE_HELD, EXAMPLE_STEPS, memory=1)
    benefits = {name(one): benefit for benefit, (one,) in found}
    assert benefits == pytest.approx({"R1": 1.6, "R": 0.5, "S2": 1.75})
    assert adaptive(EXAMPLE_HELD, EXAMPLE_STEPS, memory=1) == pytest.approx(1.75)


def test_joins_multiplies_the_chances():
    held = [(0, {1: 0.5, 2: 0.5}), (1, {3: 1.0})]
    assert joins(held, ({3: 0.25}, {1: 0.5, 2: 0.25})) == 0.25 + 0.125 + 0.25


def test_steps_ahead_of_a_walk_and_a_trend():
    models = Walk({-1: 0.5, 1: 0.5}), Trend(1, 0, {0: 1.0})
    assert steps_ahead(models, ([0, 1], [0, 1]), 2) == [
        ({1: 1.0}, {1: 1.0}),
        ({0: 0.5, 2: 0.5}, {2: 1.0}),
        ({-1: 0.25, 1: 0.5, 3: 0.25}, {3: 1.0}),
    ]
    # one place: the newcomers R1 and S1; R brings a 1 at the second step with chance 1/2
    benefit, (kept,) = flow_expect((), steps_ahead(models, ([0, 1], [0, 1]), 2), memory=1)
    assert (benefit, name(kept)) == (0.5, "S1")


LAW = st.sampled_from([{}, {1: 1.0}, {2: 1.0}, {1: 0.5}, {1: 0.25, 2: 0.75}])
CERTAIN = st.sampled_from([{1: 1.0}, {2: 1.0}, {3: 1.0}])


@settings(max_examples=25)
@given(
    now=st.tuples(CERTAIN, CERTAIN),
    later=st.lists(st.tuples(LAW, LAW), max_size=2),
    memory=st.integers(1, 2),
)
def test_adaptive_is_never_worse(now, later, memory):
    held, steps = ((0, {2: 1.0}),), (now, *later)
    assert adaptive(held, steps, memory) >= flow_expect_benefit(held, steps, memory) - 1e-12


def flow_expect_benefit(held, steps, memory):
    return max(benefit for benefit, _ in sequences(held, steps, memory))


@settings(max_examples=25)
@given(
    values=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=4),
    memory=st.integers(1, 2),
)
def test_when_all_is_known_it_is_the_offline_optimum(values, memory):
    # section 7.1
    steps = [({r: 1.0}, {s: 1.0}) for r, s in values]
    groups = [[(0, r), (1, s)] for r, s in values]
    assert flow_expect_benefit((), steps, memory) == opt_join(groups, memory)
