import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profiling import Weights, fit_likelihood, permuted, rank_keys
from penstock.profiling.likelihood import log_likelihood
from tests.naive import profiling as naive
from tests.profiling.streams import A, B, few_keys, local


@given(keys=few_keys, weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=5))
def test_the_likelihood_is_its_twins(keys, weights):
    b, *a = np.array(weights) / sum(weights)
    if len(a) < len(keys):
        rank = rank_keys(keys).rank
        expected = naive.log_likelihood(keys, a, b)
        assert log_likelihood(rank, Weights(np.array(a), b)) == pytest.approx(expected)


@given(keys=few_keys, h=st.integers(1, 4), toward=st.integers(0, 4))
def test_nothing_near_is_likelier(keys, h, toward):
    if h >= len(keys):
        return
    rank = rank_keys(keys).rank
    found = fit_likelihood(rank, h)
    all_weights = np.append(found.b, found.a)
    assert all_weights.sum() == pytest.approx(1)
    assert all_weights.min() >= 0
    corner = np.zeros(h + 1)
    corner[toward % (h + 1)] = 1
    moved = 0.98 * all_weights + 0.02 * corner
    best = log_likelihood(rank, found)
    assert log_likelihood(rank, Weights(moved[1:], moved[0])) <= best + 1e-2


@pytest.mark.parametrize("keys", [50, 2000, 100_000])
def test_known_parameters_are_recovered(keys):
    found = fit_likelihood(rank_keys(local(200_000, keys=keys)).rank, 5)
    assert found.b == pytest.approx(B, abs=0.01)
    assert found.a == pytest.approx(A, abs=0.01)


@pytest.mark.parametrize("h", [1, 5, 32])
def test_a_permuted_stream_is_all_popularity(h):
    assert fit_likelihood(permuted(rank_keys(local(200_000)).rank, seed=1), h).b >= 0.99


def test_where_it_starts_does_not_matter():
    rank = rank_keys(local(20_000)).rank
    one = fit_likelihood(rank, 5)
    other = fit_likelihood(rank, 5, start=Weights(np.array([0.9]), 0.1))
    assert one.a == pytest.approx(other.a, abs=1e-3)


def test_a_stream_that_only_repeats_itself():
    found = fit_likelihood(np.arange(1000) % 10, 10)
    assert found.b == pytest.approx(0, abs=1e-3)
    assert found.a[9] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("h", [0, 10, 11])
def test_refuses_an_h_beyond_the_stream(h):
    with pytest.raises(BadInput, match="h must be"):
        fit_likelihood(np.arange(10), h)
