"""What a stream is like, from all of its rows or from samples of bounded size.

Measures of a stream of keys: popularity with a Zipf fit, inter-arrival and stack distances, the
locality model and its fits, entropy, bursts. `profile` puts them into one `Profile`; `summary.py`
and `plots.py` show it. Lossy counting finds frequent keys (`lossy.py`, `epsilon.py`,
`frequent_keys.py`). For a stream too long to hold, `sketch.py` keeps samples and
`sampled_profile.py` estimates the same `Profile` from them, with errors.
"""

from ..workloads.locality import Locality
from .bursts import Bursts, bursts
from .distances import Distances, Reuse, distances, reuse, stack_distances
from .entropy import Entropy
from .epsilon import m_to_epsilon, steady_entries
from .locality import Expected, Weights, expected
from .locality_fit import Horizon, fit_likelihood, fit_squares
from .lossy import Frequent, LossyCounter
from .popularity import Popularity, fit_zipf
from .ranked import Ranked, permuted, rank_keys
from .stream_profile import Profile, profile

__all__ = [
    "Bursts",
    "Distances",
    "Entropy",
    "Expected",
    "Frequent",
    "Horizon",
    "Locality",
    "LossyCounter",
    "Popularity",
    "Profile",
    "Ranked",
    "Reuse",
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
