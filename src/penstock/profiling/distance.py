"""Inter-arrival distances: how many tuples on a key comes back.

d(k) is the part of all tuples whose key comes again after exactly k tuples; what is missing to 1
never comes again. The distances of a random permutation show the locality that popularity alone
makes, and the difference is correlation over short times.

Source: definition 1, equation 1 and theorem 1 of Li, Chang, Kollios and Bestavros, "Characterizing
and Exploiting Reference Locality in Data Stream Applications" (ICDE 2006).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numeric import Ints
from .links import previous

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distances:
    """Counts of distances."""

    count: Ints  # int64[longest + 1]: tuples whose key comes again after k
    total: int  # tuples of the stream

    @property
    def density(self) -> Floats:
        """d(k) for k = 0, 1, ...; d(0) is 0."""
        return self.count / self.total

    def within(self, k: ArrayLike) -> Floats:
        """Return the part of all tuples whose key comes again after at most k: the CDF."""
        upto = np.cumsum(self.count) / self.total
        return upto[np.clip(np.asarray(k), 0, len(upto) - 1)]

    def error(self, k: ArrayLike) -> Floats:
        """Return how far that may be off: by nothing, for it was counted."""
        return np.zeros(np.shape(k))

    @property
    def median(self) -> int:
        """The middle one of the distances, of the keys that come again; 0: none does."""
        upto = np.cumsum(self.count)
        return int(np.searchsorted(upto, upto[-1] / 2)) if upto[-1] else 0


def distances(keys: Ints, before: Ints | None = None) -> Distances:
    """Return how the distances of a stream are spread; `before` is `previous(keys)`, if at hand.

    >>> distances(np.array([7, 8, 7, 7])).count.tolist()
    [0, 1, 1]
    """
    before = previous(keys) if before is None else before
    again = np.flatnonzero(before >= 0)
    return Distances(np.bincount(again - before[again], minlength=2), len(keys))


def independent(share: Floats, k: ArrayLike) -> Floats:
    """Return d(k) of independent draws (equation 1); `share` is the popularity of each key.

    >>> independent(np.array([0.5, 0.5]), [1, 2, 3]).tolist()
    [0.5, 0.25, 0.125]
    """
    ks = np.atleast_1d(k)
    return np.array([float(np.sum(share**2 * (1 - share) ** (each - 1))) for each in ks])
