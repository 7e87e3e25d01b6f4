"""The sample of the keys: the twin's, all of a key or nothing, and near the share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.adapt.shadows import sampled
from tests.naive.choosing import in_sample

KEYS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60)


@given(keys=KEYS, share=st.floats(0, 1))
def test_samples_as_its_twin(keys, share):
    expected = [place for place, key in enumerate(keys) if share >= 1 or in_sample(key, share)]
    assert sampled(np.array(keys, np.int64), share).tolist() == expected


@given(keys=KEYS, share=st.floats(0, 1), smaller=st.floats(0, 1))
def test_a_smaller_sample_lies_within_a_larger_one(keys, share, smaller):
    within = sampled(np.array(keys, np.int64), share * smaller)
    assert set(within) <= set(sampled(np.array(keys, np.int64), share))


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_a_share_of_the_keys_is_in_it(share):
    found = len(sampled(np.arange(100_000), share))
    assert abs(found - share * 100_000) < 5 * np.sqrt(share * 100_000)
