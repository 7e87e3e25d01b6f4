import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.recovery import fit_squares
from penstock import BadInput
from penstock.profile import locality
from penstock.profile.locality import (
    Weights,
    fit_horizon,
    fit_likelihood,
    lagged_sums,
    least_squares,
    likeliest,
)
from penstock.profile.ranked import permuted, rank_keys, whole
from penstock.simulate.workloads import GENERATED
from tests.naive import profile as naive
from tests.profile.streams import A, B, few_keys, local


def log_likelihood(known, weights):
    """Return the log-probability of all rows after the first h, given the preceding ones."""
    return locality._step(locality._find(known, weights.h), np.append(weights.b, weights.a))[1]


@given(keys=few_keys, weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=5))
def test_the_likelihood_is_its_twins(keys, weights):
    b, *a = np.array(weights) / sum(weights)
    if len(a) < len(keys):
        rank = rank_keys(keys).rank
        expected = naive.log_likelihood(keys, a, b)
        assert log_likelihood(whole(rank), Weights(np.array(a), b)) == pytest.approx(expected)


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
    best = log_likelihood(whole(rank), found)
    assert log_likelihood(whole(rank), Weights(moved[1:], moved[0])) <= best + 1e-2


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
    other = likeliest(whole(rank), 5, start=Weights(np.array([0.9]), 0.1))
    assert one.a == pytest.approx(other.a, abs=1e-3)


def test_a_stream_that_only_repeats_itself():
    found = fit_likelihood(np.arange(1000) % 10, 10)
    assert found.b == pytest.approx(0, abs=1e-3)
    assert found.a[9] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("h", [0, 10, 11])
def test_refuses_an_h_beyond_the_stream(h):
    with pytest.raises(BadInput, match="h must be"):
        fit_likelihood(np.arange(10), h)


@given(keys=few_keys, h=st.integers(1, 5))
def test_nothing_near_has_a_smaller_error(keys, h):
    if h >= len(keys):
        return
    found = fit_squares(np.array(keys), h)
    ranks = [key + 1 for key in keys]
    least = naive.squared_error(ranks, found.a, found.b)
    for place in range(h + 1):
        for step in (-0.01, 0.01):
            a, b = found.a.copy(), found.b
            if place < h:
                a[place] += step
            else:
                b += step
            assert naive.squared_error(ranks, a, b) >= least - 1e-6


@given(keys=few_keys, h=st.integers(1, 5))
def test_sums_are_those_of_the_definition(keys, h):
    if h >= len(keys):
        return
    x = np.array(keys, float)
    products, sums, count = lagged_sums(x, h)
    lagged = np.array([x[h - j : len(x) - j] for j in range(h + 1)])
    assert products == pytest.approx(lagged @ lagged.T)
    assert sums == pytest.approx(lagged.sum(axis=1))
    assert count == len(x) - h


def test_few_keys_are_recovered():
    rank = rank_keys(local(200_000, keys=500)).rank
    assert fit_squares(rank, 5).b == pytest.approx(B, abs=0.05)


def test_squares_a_permuted_stream_is_all_popularity():
    rank = permuted(rank_keys(local(200_000)).rank, seed=1)
    assert fit_squares(rank, 5).b >= 0.95


def test_several_at_once_are_nearly_those_of_one():
    rank = rank_keys(local(20_000, keys=50)).rank
    for found in least_squares(whole(rank), [1, 2, 5]):
        assert found.b == pytest.approx(fit_squares(rank, found.h).b, abs=1e-2)


@pytest.mark.parametrize("h", [0, 10, 11])
def test_squares_refuses_an_h_beyond_the_stream(h):
    with pytest.raises(BadInput, match="h must be"):
        fit_squares(np.arange(10), h)
    assert fit_squares(np.arange(10), 9).h == 9


def test_the_true_h_suffices():
    found = fit_horizon(whole(rank_keys(local(50_000)).rank))
    assert (found.advice, found.settled) == (5, True)
    b = dict(zip(found.h, found.b()))
    assert b[5] == pytest.approx(B, abs=0.02)
    assert b[32] == pytest.approx(B, abs=0.02)


def test_b_never_rises():
    assert (np.diff(fit_horizon(whole(rank_keys(local(20_000)).rank)).b()) < 1e-3).all()


def test_independent_tuples_need_the_least():
    found = fit_horizon(whole(permuted(rank_keys(local(50_000)).rank, 1)))
    assert (found.advice, found.settled) == (1, True)


def test_a_long_memory_has_not_settled():
    keys = GENERATED["zipf"].references(20_000, 1, domain=1000, pareto=0.5).key
    assert not fit_horizon(whole(rank_keys(keys).rank), longest=10).settled


def test_the_longest_is_the_last_that_is_tried():
    rank = whole(rank_keys(local(1000)).rank)
    assert fit_horizon(rank, longest=7).h == (1, 2, 3, 4, 5, 6, 7)
    assert fit_horizon(rank, longest=1).h == (1,)
    assert len(fit_horizon(rank, longest=7).squares) == 7


def test_refuses_to_look_back_too_far():
    with pytest.raises(BadInput, match="h must be below the length of the stream, 4 rows, got 4"):
        fit_horizon(whole(np.array([0, 1, 0, 1])), longest=4)


def test_tells_how_far_it_is():
    told = []
    fit_horizon(
        whole(rank_keys(local(500)).rank), longest=3, progress=lambda *done: told.append(done)
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
