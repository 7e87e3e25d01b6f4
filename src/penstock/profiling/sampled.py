"""Distances and hit ratios that were estimated from samples, with their errors.

They answer the same questions as `Distances` and `Reuse`, which hold a count for every distance.
Errors are half the width of an interval that holds the truth 95 times of 100. How they are found
is told in `penstock.sampling`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numeric import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """What part of all tuples has at most a distance, at some distances."""

    at: Ints  # int64[knots]: distances from 0 up
    part: Floats  # float64[knots]: never falls
    error: Floats  # float64[knots]

    def value(self, distance: ArrayLike) -> Floats:
        """Return the part, by straight lines between the knots.

        >>> Curve(np.array([0, 10]), np.array([0, 0.5]), np.zeros(2)).value([5, 100]).tolist()
        [0.25, 0.5]
        """
        return np.interp(np.asarray(distance), self.at, self.part)

    def reach(self, part: float) -> int:
        """Return the smallest distance that so large a part of what ever comes again has."""
        wanted = part * float(self.part[-1]) * (1 - 1e-12)
        place = int(np.searchsorted(self.part, wanted))
        if place == 0:
            return int(self.at[0])
        (low, high), (x, y) = self.part[place - 1 : place + 1], self.at[place - 1 : place + 1]
        return int(np.ceil(x + (y - x) * (wanted - low) / (high - low)))


@dataclass(frozen=True, eq=False)
class SampledDistances:
    """After how many tuples keys come again."""

    curve: Curve
    total: int  # tuples of the stream

    def within(self, k: ArrayLike) -> Floats:
        """Return the part of all tuples whose key comes again after at most k: the CDF."""
        return self.curve.value(k)

    def error(self, k: ArrayLike) -> Floats:
        """Return how far that may be off."""
        return np.interp(np.asarray(k), self.curve.at, self.curve.error)

    @property
    def median(self) -> int:
        """The middle one of the distances, of the keys that come again."""
        return self.curve.reach(0.5)


@dataclass(frozen=True, eq=False)
class SampledReuse:
    """Among how many different keys a key was the latest, when it comes again."""

    curve: Curve
    total: int  # tuples of the stream

    def hit_ratio(self, size: ArrayLike) -> Floats:
        """Return the part of the stream that hits an LRU cache of that many rows."""
        return self.curve.value(size)

    def error(self, size: ArrayLike) -> Floats:
        """Return how far that may be off."""
        return np.interp(np.asarray(size), self.curve.at, self.curve.error)

    def size_for(self, part: float) -> int:
        """Return the smallest LRU cache that has this part of the hits of an unlimited one.

        >>> SampledReuse(Curve(np.array([0, 8]), np.array([0, 0.5]), np.zeros(2)), 99).size_for(0.9)
        8
        """
        return self.curve.reach(part)


@dataclass(frozen=True)
class Sampling:
    """What was looked at, and how far the numbers that have no curve may be off."""

    rate: float  # the part of the keys all of whose tuples were looked at
    stretches: int  # how many stretches of tuples that follow each other
    tuples: int  # in all of them
    keys_error: float  # of the number of different keys; 0: they were counted
    b_error: float
    entropy_error: float  # of the entropy given the past

    def to_json(self, within: Floats, hits: Floats) -> dict[str, float | int | list[float]]:
        """Return it as plain numbers, with the errors at the points of both curves."""
        return {
            "rate": self.rate,
            "stretches": self.stretches,
            "stretch_tuples": self.tuples,
            "keys_error": self.keys_error,
            "distance_error": within.tolist(),
            "hit_ratio_error": hits.tolist(),
            "b_error": self.b_error,
            "entropy_bits_error": self.entropy_error,
        }
