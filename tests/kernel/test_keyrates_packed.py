"""Sums in 16 bits: what is exact, how far off the rest is, and the mean of what is rounded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import keyrates
from penstock.kernel.jit import kernel
from tests.naive.policies.rates import rounded

CHANCES = st.integers(0, 2**32 - 1).map(lambda drawn: drawn / 2**32)


@kernel
def there_and_back(value, chance):
    return keyrates.unpack(keyrates.pack(value, chance))


@kernel
def count(times, chances):
    """Add 1 so many times, as a key's sum for ever is counted."""
    code = np.int64(0)
    for i in range(times):
        code = keyrates.pack(keyrates.unpack(code) + 1.0, chances[i])
    return keyrates.unpack(code)


@given(value=st.floats(1, 2.0**30), chance=CHANCES)
def test_numbers_are_those_of_the_twin(value, chance):
    assert there_and_back(value, chance) == rounded(value, chance)


@given(value=st.integers(1, 4096), chance=CHANCES)
def test_small_whole_numbers_are_kept(value, chance):
    assert there_and_back(float(value), chance) == value


def test_no_number_at_all_and_the_largest():
    assert count(0, np.zeros(1)) == 0
    assert there_and_back(2.0**40, 0.0) == 4095 * 2.0**19


def test_a_large_sum_still_grows():
    # from 4,096 on every second addition is lost, then three of four, ...: on average none is
    chances = np.random.default_rng(1).random(50_000)
    assert count(50_000, chances) == pytest.approx(50_000, rel=0.02)
