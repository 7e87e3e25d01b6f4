"""Stretches of a stream: tuples that follow each other, and what is known of their keys elsewhere.

The locality model is fitted to what came just before each tuple, so a few long stretches tell about
a stream as its whole would, if the popularity of their keys is that of the whole. A stream that is
known from its first tuple to its last is one stretch.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from .links import previous
from .locality import check_h

Floats = NDArray[np.float64]


class Stretches(NamedTuple):
    """One stretch after the other."""

    key: Ints  # int64[n]: the number of each tuple's key, from 0
    before: Ints  # int64[n]: the last place before it with its key, in its stretch; -1: none
    starts: Ints  # int64[stretches + 1]: where each one starts; n, at the end
    share: Floats  # float64[keys]: what part of the stream a key makes up
    rank: Floats  # float64[keys]: its place by popularity, from 1
    mean: float  # of the ranks of all tuples of the stream

    def after_first(self, h: int) -> NDArray[np.bool_]:
        """Tell which tuples have h others before them in their stretch."""
        told = np.ones(len(self.key), bool)
        for start in self.starts[:-1]:
            told[start : start + h] = False
        return told

    def each(self) -> Iterator["Stretches"]:
        """Return every stretch by itself."""
        for start, end in zip(self.starts[:-1], self.starts[1:]):
            before = self.before[start:end]
            yield self._replace(
                key=self.key[start:end],
                before=np.where(before >= 0, before - start, -1),
                starts=np.array([0, end - start]),
            )

    def check_h(self, h: int) -> None:
        """Refuse to look back further than the longest stretch goes."""
        of = "stream" if len(self.starts) == 2 else "stretches that are known of the stream"
        check_h(h, int(np.diff(self.starts).max()), of)


def whole(rank: Ints, before: Ints | None = None) -> Stretches:
    """Return a stream of which all is known as one stretch; ranks are from 0.

    >>> whole(np.array([0, 1, 0])).share.round(2).tolist()
    [0.67, 0.33]
    """
    before = previous(rank) if before is None else before
    share = np.bincount(rank) / len(rank)
    starts = np.array([0, len(rank)])
    return Stretches(rank, before, starts, share, np.arange(1.0, len(share) + 1), rank.mean() + 1)


def link(key: Ints, starts: Ints, share: Floats, rank: Floats, mean: float) -> Stretches:
    """Return stretches whose keys are numbered.

    >>> link(np.array([0, 1, 1, 0]), np.array([0, 2, 4]), np.ones(2), np.ones(2), 1.0).before
    array([-1, -1, -1, -1])
    """
    before = previous(key)
    begin = np.repeat(starts[:-1], np.diff(starts))
    return Stretches(key, np.where(before >= begin, before, -1), starts, share, rank, mean)
