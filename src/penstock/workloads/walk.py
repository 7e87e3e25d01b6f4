"""Two independent random walks: near values can be predicted, far ones cannot.

A walk is at 0 at step 0 and then moves by round(N(0, 1)) a step. Two walks may part for good, so
the number of matches varies widely between seeds, and no tuple is ever certain to be dead.

Source: WALK in section 8 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams"
(SIGMOD 2005).
"""

import numpy as np

from .draws import at_least, source
from .trace import Ints, JoinTrace, LookupTrace, interleave


def walk(length: int, seed: int) -> JoinTrace:
    """Return `length` steps of two walks; one R and one S tuple arrive at each step.

    >>> trace = walk(5000, seed=1)
    >>> trace.steps, trace.key[:2].tolist(), trace.end is None
    (5000, [0, 0], True)
    """
    side, key, time = interleave([_positions(length, seed, side) for side in (0, 1)])
    return JoinTrace(side, key, time, together=True, labels=("R", "S"), name="walk", value=key)


def walk_references(length: int, seed: int) -> LookupTrace:
    """Return the S stream of `walk` with the same seed as a reference stream.

    >>> bool((walk_references(9, seed=1).key == walk(9, seed=1).key[1::2]).all())
    True
    """
    key = _positions(length, seed, 1)
    return LookupTrace(key, "walk", value=key)


def _positions(length: int, seed: int, side: int) -> Ints:
    at_least("length", length, 1)
    moves = np.rint(source(seed, side).standard_normal(length)).astype(np.int64)
    moves[0] = 0
    return np.cumsum(moves)
