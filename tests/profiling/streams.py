"""Streams that the tests share."""

import numpy as np
from hypothesis import strategies as st

from penstock.profiling import Locality
from penstock.simulate.skewed import popularity

A = np.array([0.24, 0.12, 0.1, 0.08, 0.06])  # h = 5
B = 0.4

few_keys = st.lists(st.integers(0, 9), min_size=2, max_size=120).filter(lambda k: len(set(k)) > 1)


def local(length=200_000, keys=2000, alpha=1.0, seed=1):
    """Return a stream drawn from the locality model with A and B."""
    return Locality(A, B, popularity(keys, alpha)).sample(length, seed)


def independent(length, keys, alpha, seed=1):
    """Return independent draws."""
    return np.random.default_rng(seed).choice(keys, length, p=popularity(keys, alpha))
