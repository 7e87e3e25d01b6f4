from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.simulate.distortion import Distortion
from tests.naive import distortion as naive

tallies = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (max(pair), min(pair))),
    max_size=8,
)


def measure(exact, found):
    return Distortion.between(np.array(exact, np.int64), np.array(found, np.int64))


def test_a_fair_sample_is_not_distorted():
    sse, kl = measure([40, 20, 20], [2, 1, 1])
    assert sse == 0
    # with half a result more for each value: (40.5, 20.5, 20.5) / 81.5 and (2.5, 1.5, 1.5) / 5.5
    p, q = 40.5 / 81.5, 2.5 / 5.5
    expected = p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
    assert kl == pytest.approx(expected)
    assert kl == pytest.approx(0.0036, abs=1e-4)


def test_one_value_is_all_that_is_produced():
    sse, kl = measure([3, 1], [2, 0])  # shares (3/4, 1/4) and (1, 0)
    assert sse == pytest.approx(2 / 16)
    # (3.5, 1.5) / 5 against (2.5, 0.5) / 3
    assert kl == pytest.approx(0.7 * log(0.7 / (5 / 6)) + 0.3 * log(0.3 / (1 / 6)))


def test_nothing_is_produced():
    sse, kl = measure([3, 1], [0, 0])
    assert sse == pytest.approx(9 / 16 + 1 / 16)
    assert kl == pytest.approx(0.7 * log(0.7 / 0.5) + 0.3 * log(0.3 / 0.5))


def test_there_is_nothing_to_produce():
    assert measure([], []) == measure([0, 0], [0, 0]) == (0.0, 0.0)


def test_values_without_results_do_not_count():
    assert measure([3, 0, 1], [2, 0, 0]) == measure([3, 1], [2, 0])


@given(pairs=tallies)
def test_as_the_twin_has_it(pairs):
    exact, found = [a for a, _ in pairs], [b for _, b in pairs]
    every = [value for value, count in enumerate(exact) for _ in range(count)]
    produced = [value for value, count in enumerate(found) for _ in range(count)]
    got = measure(exact, found)
    assert got.sse == pytest.approx(naive.sse(every, produced), abs=1e-12)
    assert got.kl == pytest.approx(naive.kl(every, produced), abs=1e-12)


@given(pairs=tallies)
def test_neither_is_below_0_and_the_exact_join_is_at_0(pairs):
    exact, found = [a for a, _ in pairs], [b for _, b in pairs]
    got = measure(exact, found)
    assert 0 <= got.sse < 2
    assert 0 <= got.kl < float("inf")
    assert measure(exact, exact) == (0.0, 0.0)
