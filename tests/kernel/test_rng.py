"""SplitMix64 bit by bit against the twin, which was written from the paper's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import rng as rngs
from penstock.kernel.jit import kernel
from tests.naive.rng import SplitMix
from tests.naive.rng import mix as naive_mix

WORDS = st.integers(0, 2**64 - 1)


@kernel
def draw(rng, bounds, out):
    for i in range(len(bounds)):
        out[i] = rngs.below(rng, bounds[i])


@kernel
def mix_all(words, out):
    for i in range(len(words)):
        out[i] = rngs.mix(words[i])


@given(
    seed=st.integers(-(2**70), 2**70),
    bounds=st.lists(st.one_of(st.integers(1, 9), st.integers(1, 2**32 - 1)), max_size=50),
)
def test_draws_as_its_twin_from_any_seed(seed, bounds):
    twin, rng = SplitMix(seed), rngs.make_rng(seed)
    out = np.zeros(len(bounds), np.int64)
    draw(rng, np.array(bounds, np.int64), out)
    assert out.tolist() == [twin.below(bound) for bound in bounds]
    assert rng.tolist() == [twin.state]


@given(words=st.lists(WORDS, max_size=50))
def test_mixes_as_its_twin(words):
    given_words = np.array(words, np.uint64)
    out = np.zeros(len(words), np.uint64)
    mix_all(given_words, out)
    assert out.tolist() == [naive_mix(word) for word in words]


def test_gives_the_published_numbers():
    # SplitMix64 from 0 begins with E220A839...; as a fraction of 2**32 its upper half is 0.883
    rng, out = rngs.make_rng(0), np.zeros(1, np.uint64)
    drawn = np.zeros(1, np.int64)
    draw(rng, np.array([1000]), drawn)
    mix_all(rng, out)
    assert out[0] == 0xE220A8397B1DCDAF
    assert drawn.tolist() == [883]


@pytest.mark.parametrize("bound", [1, 2, 3, 7])
def test_every_number_below_the_bound_is_about_as_likely(bound):
    out = np.zeros(7000, np.int64)
    draw(rngs.make_rng(5), np.full(7000, bound), out)
    counts = np.bincount(out, minlength=bound)
    assert len(counts) == bound
    assert counts.min() > 0.9 * 7000 / bound
