"""Caching as a case of joining: references join a second stream that supplies the rows.

With every reference the row that it asks for is supplied, hit or miss. So that a row is worth one
hit and not one for each reference to come, values become pairs: the i-th reference to v is (v, i -
1) in R and supplies (v, i) in S. A supplied row then joins the next reference to its value and no
other, and a reference joins nothing that comes after it.

A policy that keeps no reference, and no row that a later copy has replaced, gets as many results
here as hits there.

Source: section 3.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005).
"""

import numpy as np

from penstock.numeric import Ints
from penstock.simulate.traces import JoinTrace, LookupTrace, interleave


def as_join(trace: LookupTrace) -> JoinTrace:
    """Return the references as R and the supplied rows as S, one of each a step.

    A pair (v, i) is written as one number: the pairs of the smallest value come first, by i.

    >>> joined = as_join(LookupTrace([5, 7, 5, 9, 5]))
    >>> joined.key[::2].tolist(), joined.key[1::2].tolist()
    ([0, 4, 1, 6, 2], [1, 5, 2, 7, 3])
    """
    _, place, count = np.unique(trace.key, return_inverse=True, return_counts=True)
    base = np.cumsum(count + 1) - (count + 1)  # n references to a value make the pairs 0 .. n
    reference = base[place] + _earlier(place, count)
    side, key, time = interleave([reference, reference + 1])
    return JoinTrace(side, key, time, together=True, name=trace.name)


def _earlier(place: Ints, count: Ints) -> Ints:
    """Return how often the value of each reference came before."""
    order = np.argsort(place, kind="stable")  # the references value by value, each in its order
    earlier = np.empty(len(place), np.int64)
    earlier[order] = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    return earlier
