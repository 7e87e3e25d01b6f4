"""What is expected ahead, against powers of the characteristic matrix and against the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.profiling import Weights, characteristic_matrix, expected
from penstock.profiling.expectation import FAR


@st.composite
def weights(draw):
    parts = np.array(draw(st.lists(st.floats(0, 1), min_size=2, max_size=7)))
    parts = parts + 0.01
    parts /= parts.sum()
    return Weights(parts[1:], float(parts[0]))


@given(known=weights(), more=st.integers(0, 9))
def test_sums_of_the_columns_of_the_matrix_to_the_power_of_t(known, more):
    steps = known.h + more
    power = np.linalg.matrix_power(characteristic_matrix(known, steps), steps)
    sums = power[:steps].sum(axis=0)
    ahead = expected(known, steps)
    assert ahead.repeated == pytest.approx(sums[: known.h])
    assert sums[known.h : steps] == pytest.approx(0)  # what is older than h plays no part
    assert ahead.afresh == pytest.approx(sums[steps])


@given(known=weights(), steps=st.integers(1, 40))
def test_all_that_comes_comes_from_somewhere(known, steps):
    ahead = expected(known, steps)
    assert ahead.repeated.sum() + ahead.afresh == pytest.approx(steps)


def test_far_ahead_only_popularity_grows():
    known = Weights(np.array([0.3, 0.2]), 0.5)
    near, far = expected(known, FAR), expected(known, FAR + 1000)
    assert far.repeated == pytest.approx(near.repeated)
    assert far.afresh - near.afresh == pytest.approx(1000)


def test_no_steps_are_refused():
    with pytest.raises(BadInput, match="steps must be a whole number of at least 1"):
        expected(Weights(np.array([0.5]), 0.5), 0)
