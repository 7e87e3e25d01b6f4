import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.lossy import NEGLIGIBLE, LossyCounter, m_to_epsilon, steady_entries
from tests.naive import space as naive


def zipf(domain, z):
    weight = np.arange(1, domain + 1) ** -float(z)
    return weight / weight.sum()


def draws(popularity, length, seed):
    return np.random.default_rng(seed).choice(len(popularity), length, p=popularity)


@pytest.mark.parametrize("z", [0.5, 1.1, 1.5])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_steady_state_is_what_is_held(z, clustered):
    # Clustered: each draw is repeated at places of its own among the 50 next, 4 times in all.
    popularity, width, random = zipf(3000, z), 500, np.random.default_rng(5)
    keys = draws(popularity, 1_000_000, seed=4)
    if clustered:
        keys = np.repeat(keys[:250_000], 4)
        keys = keys[np.argsort(np.arange(len(keys)) + random.uniform(0, 50, len(keys)))]
    counter, held = LossyCounter(1 / width), []
    for first in range(0, len(keys), width):
        counter.push(keys[first : first + width - 1])
        held.append(counter.held)
        counter.push(keys[first + width - 1 : first + width])
    foretold = steady_entries(popularity, 1 / width)
    assert np.mean(held[len(held) // 2 :]) == pytest.approx(foretold, rel=0.03)


def test_algorithm_3_gets_stuck_as_printed():
    popularity = zipf(3000, 1.3)
    needs = lambda epsilon: steady_entries(popularity, epsilon)  # noqa: E731
    tried = naive.algorithm_3(200, needs, support=0.05, threshold=1, rounds=100)
    assert len(tried) == 100
    assert len(set(tried)) < 8  # the same one over and over
    assert needs(tried[-1]) > 220  # and it is not a good one
    epsilon = m_to_epsilon(200, needs, support=0.05)
    assert 199 < needs(epsilon) <= 200


@given(weights=st.lists(st.integers(1, 50), min_size=1, max_size=30), memory=st.integers(1, 40))
def test_the_smallest_epsilon_that_fits(weights, memory):
    popularity = np.array(weights) / sum(weights)
    needs = lambda epsilon: steady_entries(popularity, epsilon)  # noqa: E731
    if needs(1 / 2) > memory * (1 + NEGLIGIBLE):
        with pytest.raises(BadInput, match=f"memory {memory} is too small for any epsilon"):
            m_to_epsilon(memory, needs)
        return
    epsilon = m_to_epsilon(memory, needs)
    assert needs(epsilon) <= memory + 1e-9
    if epsilon > 1e-9:
        assert needs(1 / (round(1 / epsilon) + 1)) > memory
    else:
        assert memory >= len(weights)


def test_epsilon_stays_below_the_support():
    assert m_to_epsilon(1000, lambda epsilon: 1 / epsilon, support=0.01) == 0.001
    assert m_to_epsilon(101, lambda epsilon: 1 / epsilon, support=0.01) == 1 / 101
    with pytest.raises(BadInput, match=r"memory 100 is too small.* even 0.00990099 needs 101 keys"):
        m_to_epsilon(100, lambda epsilon: 1 / epsilon, support=0.01)
    with pytest.raises(BadInput, match=r"memory must be .* at least 1, got 0"):
        m_to_epsilon(0, lambda epsilon: 1 / epsilon)
