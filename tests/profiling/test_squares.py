import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profiling import fit_squares, permuted, rank_keys
from penstock.profiling.squares import lagged_sums, squares_each
from penstock.profiling.stretches import whole
from tests.naive import profiling as naive
from tests.profiling.streams import B, few_keys, local


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


def test_a_permuted_stream_is_all_popularity():
    rank = permuted(rank_keys(local(200_000)).rank, seed=1)
    assert fit_squares(rank, 5).b >= 0.95


def test_several_at_once_are_nearly_those_of_one():
    rank = rank_keys(local(20_000, keys=50)).rank
    for found in squares_each(whole(rank), [1, 2, 5]):
        assert found.b == pytest.approx(fit_squares(rank, found.h).b, abs=1e-2)


@pytest.mark.parametrize("h", [0, 10, 11])
def test_refuses_an_h_beyond_the_stream(h):
    with pytest.raises(BadInput, match="h must be"):
        fit_squares(np.arange(10), h)
    assert fit_squares(np.arange(10), 9).h == 9
