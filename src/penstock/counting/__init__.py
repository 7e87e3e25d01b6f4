"""Which keys come often, in little memory: lossy counting, and how much memory it will take."""

from .lossy import Frequent, LossyCounter
from .space import (
    LocalityEstimate,
    equation_5,
    locality_entries,
    m_to_epsilon,
    steady_entries,
    theorem_2,
)

__all__ = [
    "Frequent",
    "LocalityEstimate",
    "LossyCounter",
    "equation_5",
    "locality_entries",
    "m_to_epsilon",
    "steady_entries",
    "theorem_2",
]
