"""What a stream is like: popularity, distances, locality, entropy, bursts; `profile` has all."""

from .bursts import Bursts, bursts
from .distance import Distances, distances
from .entropy import Entropy, entropy
from .expectation import Expected, characteristic_matrix, expected
from .horizon import Horizon, horizon
from .likelihood import fit_likelihood
from .links import permuted
from .locality import Locality, Weights
from .popularity import Popularity, fit_zipf
from .profile import Profile, profile
from .ranks import Ranked, rank_keys
from .reuse import Reuse, reuse, stack_distances
from .squares import fit_squares

__all__ = [
    "Bursts",
    "Distances",
    "Entropy",
    "Expected",
    "Horizon",
    "Locality",
    "Popularity",
    "Profile",
    "Ranked",
    "Reuse",
    "Weights",
    "bursts",
    "characteristic_matrix",
    "distances",
    "entropy",
    "expected",
    "fit_likelihood",
    "fit_squares",
    "fit_zipf",
    "horizon",
    "permuted",
    "profile",
    "rank_keys",
    "reuse",
    "stack_distances",
]
