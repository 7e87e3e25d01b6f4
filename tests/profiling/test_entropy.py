import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profiling import Weights, entropy, fit_likelihood, rank_keys
from penstock.profiling.entropy import conditional, unconditional
from penstock.profiling.stretches import whole
from tests.naive import profiling as naive
from tests.profiling.streams import few_keys, independent, local


@given(keys=few_keys, weights=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_as_its_twin(keys, weights):
    if len(weights) > len(keys) or sum(weights) < 0.1:
        return
    b, *a = np.array(weights) / sum(weights)
    found = conditional(whole(rank_keys(keys).rank), Weights(np.array(a), b))
    assert found == pytest.approx(naive.entropy(keys, a, b), abs=1e-9)


def test_lemma_4_locality_lowers_the_entropy():
    rank = rank_keys(local(50_000)).rank
    found = entropy(rank, fit_likelihood(rank, 5))
    assert found.stream < 0.75 * found.permuted
    assert found.permuted == pytest.approx(found.popularity, rel=0.002)
    assert found.popularity == pytest.approx(unconditional(np.bincount(rank)))


def test_independent_draws_have_the_entropy_of_one():
    rank = rank_keys(independent(50_000, 500, alpha=0)).rank
    found = entropy(rank, fit_likelihood(rank, 5))
    assert found.popularity == pytest.approx(np.log2(500), rel=0.01)
    assert found.stream == pytest.approx(found.popularity, rel=0.002)


def test_refuses_weights_that_are_no_probabilities():
    with pytest.raises(BadInput, match="weights must be probabilities"):
        conditional(whole(np.array([0, 1, 0, 1])), Weights(np.array([-0.2]), 1.2))
