"""What is read off a curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.advisor.curves import BESIDE, ROUGHLY, STEEP, Curve, draw_curve, fill, grid, refine
from penstock.advisor.replay import Measured

RISING = Curve(
    "lru", np.array([10, 100, 1000]), np.array([0.1, 0.5, 1.0]), np.array([0.05, 0.05, 0.0])
)


@given(st.floats(0.01, 1.0))
def test_the_memory_for_a_target_finds_the_target(target):
    rows = RISING.rows_for(target)
    assert rows is not None
    if rows >= 10:
        assert RISING.at(rows).share == pytest.approx(target)


def test_errors_widen_the_answer():
    low, rows, high = (RISING.rows_for(0.5, sigmas) for sigmas in (1, 0, -1))
    assert rows == pytest.approx(100)
    assert low < rows < high


def test_between_two_points_the_truth_may_lie_off_the_line():
    assert RISING.at(100).error == pytest.approx(0.05)
    halfway = RISING.at(10**1.5)
    assert halfway.error == pytest.approx(0.05 + 0.4 / 4)
    assert RISING.at(1000).error == RISING.at(5000).error == 0


def test_flat_parts_are_not_replayed():
    asked = []

    def replay(policy, budget):
        asked.append(budget)
        return Measured(0.5 if budget < 50 else 0.99, 0.0)

    rows = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500])
    curve = draw_curve("lru", rows, 1.0, replay)
    assert sorted(asked) == curve.rows[:-1].tolist()
    assert {1, 20, 50} <= set(asked)  # on both sides of the step
    assert not {2, 200} & set(asked)


def test_what_is_beside_a_curve_is_drawn_with_it():
    asked = []

    def replay(policy, budget):
        asked.append(budget)
        return Measured(0.99, 0.0, Measured(budget / 500, 0.01))

    rows = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500])
    curve = draw_curve("lru", rows, 1.0, replay, beside=True)
    assert asked == [1, 10, 200]  # flat, and one more for the other
    curve = fill(curve, rows, replay, STEEP, BESIDE)
    assert 50 in curve.rows  # where the other one is steep
    assert 2 not in curve.rows
    assert curve.beside.rows.tolist() == curve.rows.tolist()
    assert curve.beside.share[:-1] == pytest.approx(curve.rows[:-1] / 500)
    assert curve.at(200).beside == (pytest.approx(0.4), pytest.approx(0.01), None)
    refined = refine(curve, 0.995, replay)
    assert refined.beside.rows.tolist() == refined.rows.tolist() != curve.rows.tolist()


def test_a_policy_that_takes_long_is_tried_with_few_memories():
    asked = []

    def replay(policy, budget):
        asked.append(budget)
        return Measured(0.1 if budget < 50 else 0.9, 0.0)

    rows = np.array([1, 5, 20, 50, 100, 200, 500])
    curve = draw_curve("auto", rows, 1.0, replay, always=[1, 20, 200], steep=ROUGHLY)
    assert asked[:3] == [1, 20, 200]
    assert 50 in asked  # a rise of 0.8
    assert 5 not in asked
    assert curve.rows.tolist() == sorted([*asked, 500])


def test_nothing_reaches_more_than_there_is():
    short = Curve("lru", np.array([10, 100]), np.array([0.2, 0.6]), np.zeros(2))
    assert short.rows_for(0.61) is None
    assert short.rows_for(0.6) == pytest.approx(100)


def test_a_curve_that_dips_is_read_at_its_first_crossing():
    dips = Curve("lru", np.array([10, 100, 1000]), np.array([0.5, 0.4, 1.0]), np.zeros(3))
    assert dips.rows_for(0.5) == pytest.approx(10)
    assert 100 < dips.rows_for(0.6) < 1000


def test_the_end_is_known_and_refining_adds_points():
    asked = []

    def replay(policy, budget):
        asked.append(budget)
        return Measured(min(1.0, budget / 1000), 0.0)

    curve = draw_curve("lru", np.array([10, 1000]), 1.0, replay)
    assert asked == [10]
    finer = refine(curve, 0.5, replay)
    assert len(finer.rows) > 2
    assert finer.rows_for(0.5) == pytest.approx(500, rel=0.2)


@given(st.floats(1, 1e6), st.floats(1, 20))
def test_the_grid_ends_with_all_rows(mean, times):
    peak = int(np.ceil(mean * times))
    rows = grid(mean, peak)
    assert rows[-1] == peak
    assert rows[0] >= 1
    assert (np.diff(rows) > 0).all()
