"""Stack distances: among how many different keys a key was the latest, when it comes again.

It is the place of the key in a stack with the last used on top, 1 for the top itself. An LRU cache
of m rows holds the m topmost, so it hits exactly where the distance is at most m: one pass over the
stream gives the hit ratio of every size.

The distance is the number of keys whose latest tuple lies after the last one of this key. A
Fenwick tree over the places of the stream counts them in O(log n).

Source: Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies" (1970).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.jit import kernel
from ..numeric import Ints
from .links import previous

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reuse:
    """Counts of stack distances."""

    count: Ints  # int64[deepest + 1]: tuples found at each depth; count[0] is 0
    total: int  # tuples of the stream

    def hits(self, size: ArrayLike) -> Ints:
        """Return how many hits an LRU cache of that many rows has."""
        upto = np.cumsum(self.count)
        return upto[np.clip(np.asarray(size), 0, len(upto) - 1)]

    def hit_ratio(self, size: ArrayLike) -> Floats:
        """Return the part of the stream that hits."""
        return self.hits(size) / self.total

    def error(self, size: ArrayLike) -> Floats:
        """Return how far that may be off: by nothing, for it was counted."""
        return np.zeros(np.shape(size))

    def size_for(self, part: float) -> int:
        """Return the smallest LRU cache that has this part of the hits of an unlimited one.

        >>> Reuse(np.array([0, 5, 3, 2]), total=20).size_for(0.8)
        2
        """
        upto = np.cumsum(self.count)
        return int(np.searchsorted(upto, part * upto[-1] - 1e-9))


def reuse(keys: Ints, before: Ints | None = None) -> Reuse:
    """Return how the stack distances of a stream are spread.

    >>> reuse(np.array([7, 8, 8, 7, 9, 7])).count.tolist()
    [0, 1, 2]
    """
    depth = stack_distances(keys, before)
    return Reuse(np.bincount(depth[depth > 0], minlength=2), len(keys))


def stack_distances(keys: Ints, before: Ints | None = None) -> Ints:
    """Return the stack distance of each tuple; 0: its key is new.

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
    latest = 0  # marks in the tree, one for the latest tuple of each key
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
