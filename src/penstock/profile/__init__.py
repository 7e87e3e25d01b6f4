"""What a stream is like, from all of its rows or from samples of bounded size.

Measures of a stream of keys: popularity with a Zipf fit, inter-arrival and stack distances, the
locality model and its fits, entropy, bursts. `profile` puts them into one `Profile`, and
`summary.py` says it in words. Lossy counting finds frequent keys (`lossy.py`, `epsilon.py`,
`frequent_keys.py`). For a stream too long to hold, `sketch.py` keeps samples and
`sampled_profile.py` estimates the same `Profile` from them, with errors.
"""

from ..workloads.locality import Locality
from .bursts import bursts
from .distances import distances, reuse, stack_distances
from .epsilon import m_to_epsilon, steady_entries
from .locality import Weights, expected
from .locality_fit import fit_likelihood, fit_squares
from .lossy import LossyCounter
from .popularity import fit_zipf
from .ranked import permuted, rank_keys
from .stream_profile import Profile, profile

__all__ = [
    "Locality",
    "LossyCounter",
    "Profile",
    "Weights",
    "bursts",
    "distances",
    "expected",
    "fit_likelihood",
    "fit_squares",
    "fit_zipf",
    "m_to_epsilon",
    "permuted",
    "profile",
    "rank_keys",
    "reuse",
    "stack_distances",
    "steady_entries",
]
