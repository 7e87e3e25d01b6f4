import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.locality import Weights, conditional, fit_likelihood, unconditional
from penstock.profile.ranked import permuted, rank_keys, whole
from tests.naive import profile as naive
from tests.profile.streams import few_keys, independent, local


@given(keys=few_keys, weights=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_as_its_twin(keys, weights):
    if len(weights) > len(keys) or sum(weights) < 0.1:
        return
    b, *a = np.array(weights) / sum(weights)
    found = conditional(whole(rank_keys(keys).rank), Weights(np.array(a), b))
    assert found == pytest.approx(naive.entropy(keys, a, b), abs=1e-9)


def given_the_past(rank):
    return conditional(whole(rank), fit_likelihood(rank, 5))


def test_lemma_4_locality_lowers_the_entropy():
    rank = rank_keys(local(50_000)).rank
    mixed, alone = given_the_past(permuted(rank, 0)), unconditional(np.bincount(rank))
    assert given_the_past(rank) < 0.75 * mixed
    assert mixed == pytest.approx(alone, rel=0.002)


def test_independent_draws_have_the_entropy_of_one():
    rank = rank_keys(independent(50_000, 500, alpha=0)).rank
    alone = unconditional(np.bincount(rank))
    assert alone == pytest.approx(np.log2(500), rel=0.01)
    assert given_the_past(rank) == pytest.approx(alone, rel=0.002)


def test_refuses_weights_that_are_no_probabilities():
    with pytest.raises(BadInput, match="weights must be probabilities"):
        conditional(whole(np.array([0, 1, 0, 1])), Weights(np.array([-0.2]), 1.2))
