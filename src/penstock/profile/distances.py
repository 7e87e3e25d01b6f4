"""How soon keys are repeated: inter-arrival distances and stack distances, as curves.

The inter-arrival distance of a row is the number of rows since the preceding row of its key. In a
random permutation the distances show the locality that popularity alone causes; the rest is
correlation over short times.

The stack distance is the number of different keys since then, the key itself included. An LRU cache
of m rows hits exactly where the stack distance is at most m, so one pass over the stream gives the
hit ratio of every size. It is the number of keys whose latest row lies at or after the preceding
row of this key; a Fenwick tree over the positions of the stream counts them in O(log n).

Both are held as a `DistanceCurve`, which is exact where every row was counted and has errors where
it was estimated from samples (`sampled_profile.py`).

Sources: definition 1 and theorem 1 of Li, Chang, Kollios and Bestavros, "Characterizing and
Exploiting Reference Locality in Data Stream Applications" (ICDE 2006); Mattson, Gecsei, Slutz and
Traiger, "Evaluation techniques for storage hierarchies" (1970).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..kernel.jit import kernel
from ..numeric import Floats, Ints
from .ranked import previous


@dataclass(frozen=True, eq=False)
class DistanceCurve:
    """The share of all rows that have at most a given distance."""

    at: Ints  # int64[knots]: distances, ascending from 0
    part: Floats  # float64[knots]: the share; never decreases
    margin: Floats  # float64[knots]: half the width of a 95 % interval; 0 where it was counted
    total: int  # rows of the stream

    @classmethod
    def counted(cls, distance: Ints, total: int) -> Self:
        """Return the exact curve of the rows that repeat a key at these distances.

        >>> DistanceCurve.counted(np.array([1, 3, 1]), total=4).value([0, 1, 2, 99]).tolist()
        [0.0, 0.5, 0.5, 0.75]
        """
        part = np.cumsum(np.bincount(distance, minlength=2)) / total
        return cls(np.arange(len(part)), part, np.broadcast_to(0.0, part.shape), total)

    def value(self, distance: ArrayLike) -> Floats:
        """Return the share at a distance, by linear interpolation between the knots."""
        return np.interp(np.asarray(distance), self.at, self.part)

    def error(self, distance: ArrayLike) -> Floats:
        """Return the error of that share."""
        return np.interp(np.asarray(distance), self.at, self.margin)

    def reach(self, part: float) -> int:
        """Return the smallest distance that covers this part of all rows that repeat a key."""
        wanted = part * float(self.part[-1]) * (1 - 1e-12)
        place = int(np.searchsorted(self.part, wanted))
        if place == 0:
            return int(self.at[0])
        (low, high), (x, y) = self.part[place - 1 : place + 1], self.at[place - 1 : place + 1]
        return max(int(x) + 1, int(np.ceil(x + (y - x) * (wanted - low) / (high - low))))


class Distances(DistanceCurve):
    """Inter-arrival distances."""

    within = DistanceCurve.value  # the share of rows whose key is repeated within k rows: the CDF

    @property
    def median(self) -> int:
        """The median distance of the keys that are repeated; 0: none is."""
        return self.reach(0.5)


class Reuse(DistanceCurve):
    """Stack distances.

    >>> Reuse.counted(np.array([1, 1, 1, 1, 2, 2, 3]), total=20).size_for(0.8)
    2
    """

    hit_ratio = DistanceCurve.value  # of an LRU cache of this many rows
    size_for = DistanceCurve.reach  # the smallest LRU cache with this part of all possible hits


def distances(keys: Ints, before: Ints | None = None) -> Distances:
    """Return the inter-arrival distances of a stream; `before` is `previous(keys)`, if at hand.

    >>> distances(np.array([7, 8, 7, 7])).within([1, 2]).tolist()
    [0.25, 0.5]
    """
    before = previous(keys) if before is None else before
    again = np.flatnonzero(before >= 0)
    return Distances.counted(again - before[again], len(keys))


def reuse(keys: Ints, before: Ints | None = None) -> Reuse:
    """Return the stack distances of a stream.

    >>> reuse(np.array([7, 8, 8, 7, 9])).hit_ratio([1, 2]).tolist()
    [0.2, 0.4]
    """
    depth = stack_distances(keys, before)
    return Reuse.counted(depth[depth > 0], len(keys))


def stack_distances(keys: Ints, before: Ints | None = None) -> Ints:
    """Return the stack distance of each row; 0: its key is new.

    >>> stack_distances(np.array([7, 8, 8, 7, 9, 7])).tolist()
    [0, 0, 1, 2, 0, 2]
    """
    before = previous(keys) if before is None else before
    depth = np.zeros(len(keys), np.int64)
    _measure(before, np.zeros(len(keys) + 1, np.int64), depth)
    return depth


@kernel
def _measure(before, tree, depth):
    size = tree.shape[0] - 1
    latest = 0  # marks in the tree, one for the latest row of each key
    for now in range(before.shape[0]):
        last = before[now]
        if last >= 0:
            upto = 0  # marks at or before `last`
            node = last + 1
            while node > 0:
                upto += tree[node]
                node -= node & -node
            depth[now] = latest - upto + 1
            node = last + 1
            while node <= size:
                tree[node] -= 1
                node += node & -node
        else:
            latest += 1
        node = now + 1
        while node <= size:
            tree[node] += 1
            node += node & -node
