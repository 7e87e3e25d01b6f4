"""LFD, the longest forward distance: on a miss the one that is needed last goes.

A newcomer that is needed last itself is not kept. With a warm-up only the references after it
count, so only they are looked forward to: no policy has more hits there.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer" (1966); LFD in
section 7.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

import functools

import numpy as np
import numpy.typing as npt

from ..core import heap as heaps
from ..core.jit import specialise
from ..errors import BadInput


def lfd(keys: npt.ArrayLike, budget: int, *, first: int = 0) -> np.ndarray:
    """Return which references are hits: bool[n].

    The choice is the best one for the hits from the reference number `first` on.

    >>> lfd([1, 2, 3, 1, 2, 3], budget=2).tolist()
    [False, False, False, True, True, False]
    """
    if budget < 1:
        raise BadInput(f"budget must be at least 1, got {budget}")
    names, key = np.unique(np.asarray(keys, np.int64), return_inverse=True)
    hits = np.zeros(len(key), bool)
    if len(key):
        heap = heaps.make_heap(len(names), np.int64)
        _compile()(heap, key, _next_references(key, first), min(budget, len(names)), hits)
    return hits


def _next_references(key: np.ndarray, first: int) -> np.ndarray:
    """Return where each key is next referenced, at `first` or later; n: never again."""
    n = len(key)
    now = np.arange(n)
    order = np.argsort(key, kind="stable")
    places = key[order] * n + order
    following = np.searchsorted(places, key * n + np.maximum(now, first - 1), side="right")
    found = order[np.minimum(following, n - 1)]
    return np.where((following < n) & (key[found] == key), found, n)


@functools.cache
def _compile():
    """Return `run(heap, key, following, budget, hits)`; the heap has the key needed last on top."""

    def run(heap, key, following, budget, hits):
        for i in range(len(key)):
            slot, score = key[i], -following[i]
            hits[i] = heap.place[slot] != heaps.ABSENT
            if hits[i]:
                heaps.change(heap, slot, score, 0)
                continue
            if heap.size[0] == budget:
                last = heaps.lowest(heap)
                if score <= heaps.score_of(heap, last):
                    continue
                heaps.drop(heap, last)
            heaps.push(heap, slot, score, 0)

    return specialise(run)
