from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulate.flowexpect import best_schedule
from tests.naive.flowexpect import (
    EXAMPLE_HELD,
    EXAMPLE_STEPS,
    candidates_of,
    flow_expect,
    joins,
    sequences,
)

LAW = st.sampled_from([{}, {1: 1.0}, {2: 1.0}, {1: 0.5}, {1: 0.25, 2: 0.75}])
TUPLE = st.tuples(st.integers(0, 1), LAW)


def gains_of(held, steps):
    """Return the expected gains of all tuples and when they come, by the twin's laws."""
    in_sight = candidates_of(held, steps[0])
    to_come = [(side, step[side]) for step in steps[1:-1] for side in (0, 1)]
    gain = [[joins([each], step) for step in steps[1:]] for each in (*in_sight, *to_come)]
    enters = [0] * len(in_sight) + [d for d in range(1, len(steps) - 1) for _ in (0, 1)]
    return np.array(gain).reshape(len(enters), len(steps) - 1), np.array(enters)


def names(tuples):
    """Count tuples by what they are, to compare them as multisets."""
    return Counter((side, *law.items()) for side, law in tuples)


def test_the_papers_example():
    # predetermined sequences are worth 1.6, 1.5 and 1.5; deciding late would be worth 1.75
    plan = best_schedule(*gains_of(EXAMPLE_HELD, EXAMPLE_STEPS), budget=1)
    assert plan.benefit == pytest.approx(1.6)
    assert plan.kept[:3].tolist() == [True, False, False]  # the cached R tuple
    assert not plan.kept[3:].any()


def test_a_plan_may_change_tuples_on_the_way():
    # one place: the first gains now, the second, which comes after step 1, at step 2
    gain, enters = np.array([[1.0, 0, 0], [0, 0.5, 0], [0.75, 0.25, 0.25]]), np.array([0, 1, 0])
    assert best_schedule(gain, enters, budget=1).benefit == pytest.approx(1.5)
    assert best_schedule(gain, enters, budget=1).kept.tolist() == [True, False, False]
    assert best_schedule(gain, enters, budget=2).benefit == pytest.approx(1.5 + 1.25)


def test_no_row_gains_before_it_comes():
    plan = best_schedule(np.array([[9.0, 9.0]]), np.array([1]), budget=1)
    assert plan.benefit == pytest.approx(9)
    assert not plan.kept.any()


def test_what_was_given_up_does_not_come_back():
    # to gain at steps 1 and 3 a tuple must be held at step 2 too, which costs the other's 0.75
    gain = np.array([[0.5, 0, 0.5], [0, 0.75, 0]])
    assert best_schedule(gain, np.array([0, 0]), budget=1).benefit == pytest.approx(1)
    gain[1, 1] = 1.25
    assert best_schedule(gain, np.array([0, 0]), budget=1).benefit == pytest.approx(1.25)


def test_without_gains_memory_is_idle():
    plan = best_schedule(np.zeros((3, 4)), np.array([0, 0, 2]), budget=2)
    assert plan.benefit == 0
    assert not plan.kept.any()


@given(
    held=st.lists(TUPLE, max_size=2),
    steps=st.lists(st.tuples(LAW, LAW), min_size=2, max_size=4),
    budget=st.integers(1, 2),
)
def test_agrees_with_trying_every_sequence(held, steps, budget):
    plan = best_schedule(*gains_of(held, steps), budget=budget)
    assert plan.benefit == pytest.approx(flow_expect(held, steps, budget)[0], abs=1e-9)
    # what is kept now leads to a benefit as large, with anybody in the places left over
    candidates = candidates_of(held, steps[0])
    kept = names(each for each, stays in zip(candidates, plan.kept, strict=False) if stays)
    assert kept.total() <= budget
    reached = [
        benefit for benefit, (first, *_) in sequences(held, steps, budget) if kept <= names(first)
    ]
    assert max(reached) == pytest.approx(plan.benefit, abs=1e-9)
