"""The best that hindsight allows, for caches and (on tiny inputs) for joins.

Sources: Belady, "A Study of Replacement Algorithms for a Virtual-Storage Computer" (1966), the
LFD of the HEEB paper, section 7.1; OPT-offline of Das, Gehrke and Riedewald, "Approximate Join
Processing over Data Streams" (SIGMOD 2003), in the discrete-time model of the HEEB paper.
"""

import math
from functools import cache
from itertools import combinations


def next_references(keys):
    """Return for every position the next position of the same key, or infinity."""
    following, seen = [], {}
    for position in reversed(range(len(keys))):
        following.append(seen.get(keys[position], math.inf))
        seen[keys[position]] = position
    return following[::-1]


def lfd_hits(keys, budget):
    """Return the hits of Belady's rule when a missed key need not be kept."""
    hits = 0
    held = {}  # key -> position of its next reference
    for key, following in zip(keys, next_references(keys), strict=True):
        hits += key in held
        if key not in held and len(held) >= budget:
            farthest = max(held, key=held.get)
            if following >= held[farthest]:
                continue  # the newcomer itself is needed last
            del held[farthest]
        held[key] = following
    return hits


def opt_join(groups, budget):
    """Return the most results any choice of victims gets from steps of (stream, key) arrivals."""

    @cache
    def best(step, held):
        if step == len(groups):
            return 0
        arrivals = groups[step]
        gained = sum(
            key == held_key and stream != held_stream
            for stream, key in arrivals
            for held_stream, held_key in held
        )
        # sorted: equal tuples are interchangeable, so their order must not tell states apart
        candidates = sorted([*held, *arrivals])
        # keeping fewer than possible never gains: what is kept in vain can be dropped later
        kept = set(combinations(candidates, min(budget, len(candidates))))
        return gained + max(best(step + 1, choice) for choice in kept)

    return best(0, ())
