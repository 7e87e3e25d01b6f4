"""Dominance: when one tuple is the better one to keep whatever the future brings.

An ECB is a list B(1), B(2), ... up to some horizon; beyond it nothing is said.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), section 5.2.
"""

from itertools import combinations


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True))


def strongly_dominates(a, b):
    return all(x > y for x, y in zip(a, b, strict=True))


def comparable(a, b):
    return dominates(a, b) or dominates(b, a)


def is_dominated_subset(chosen, ecbs):
    """Say whether everyone outside dominates everyone inside; `chosen` are positions in ecbs."""
    outside = [i for i in range(len(ecbs)) if i not in chosen]
    return all(dominates(ecbs[u], ecbs[v]) for u in outside for v in chosen)


def safe_to_discard(ecbs, surplus):
    """Return the largest dominated subset of at most `surplus` tuples (corollary 2).

    An optimal algorithm discards all of it. Of equally large ones the first.
    """
    for size in range(min(surplus, len(ecbs)), 0, -1):
        for chosen in combinations(range(len(ecbs)), size):
            if is_dominated_subset(chosen, ecbs):
                return set(chosen)
    return set()
