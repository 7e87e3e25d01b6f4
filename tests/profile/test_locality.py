"""What is expected ahead, against powers of the characteristic matrix and against the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.locality import FAR, Locality, Weights, expected
from tests.naive.space import characteristic_matrix
from tests.profile.streams import A, B, local


@st.composite
def weights(draw):
    parts = np.array(draw(st.lists(st.floats(0, 1), min_size=2, max_size=7)))
    parts = parts + 0.01
    parts /= parts.sum()
    return Weights(parts[1:], float(parts[0]))


@given(known=weights(), more=st.integers(0, 9))
def test_sums_of_the_columns_of_the_matrix_to_the_power_of_t(known, more):
    steps = known.h + more
    power = np.linalg.matrix_power(characteristic_matrix(*known, steps), steps)
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


def test_samples_keep_the_popularity():
    keys = local(200_000, keys=10, alpha=0.5)
    model = Locality(A, B, np.bincount(keys) / len(keys))
    again = model.sample(200_000, seed=2)
    assert np.bincount(again) / len(again) == pytest.approx(model.popularity, abs=0.01)


def test_tuples_repeat_as_often_as_they_should():
    keys = Locality([0, 0.7], 0.3, np.full(10_000, 1e-4)).sample(50_000, seed=1)
    assert np.mean(keys[2:] == keys[:-2]) == pytest.approx(0.7, abs=0.01)
    assert np.mean(keys[1:] == keys[:-1]) < 0.01


def test_the_seed_decides():
    assert (local(100, seed=1) == local(100, seed=1)).all()
    assert (local(100, seed=1) != local(100, seed=2)).any()


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [([0.5], 0.4, [1.0]), ([-0.5], 1.5, [1.0]), ([0.5], 0.5, [0.5, 0.4]), ([0.5], 0.5, [])],
)
def test_refuses_what_is_no_distribution(a, b, p):
    with pytest.raises(BadInput, match="must be probabilities that sum to 1"):
        Locality(a, b, p)
