"""Caching as a case of joining: a stream of references joins a stream that supplies the rows.

The i-th reference to v becomes (v, i - 1) in R and supplies (v, i) in S. So a supplied row joins
the next reference to its value and no other, and a reference joins nothing that comes after it.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), section 3.1
and corollary 1.
"""

from collections import Counter
from itertools import accumulate


def as_join(keys):
    """Return the streams R' and S' of a stream of references."""
    references, supply, seen = [], [], Counter()
    for key in keys:
        references.append((key, seen[key]))
        seen[key] += 1
        supply.append((key, seen[key]))
    return references, supply


def supplied_score(score):
    """Turn the score of a cache, score(v, references so far), into one of the join (see steps.py).

    What can join no more is worth nothing: references, and rows that a later copy has replaced.
    """

    def join_score(side, pair, history):
        key, copy = pair
        references = [v for v, _ in history[0]]
        if side == 0 or copy < references.count(key):
            return float("-inf")
        return score(key, references)

    return join_score


def ecb_by_futures(model, v, references, horizon):
    """Return B(1) ... B(horizon) of the row of v by lemma 1, listing all futures of R'.

    The row was supplied with the last reference to v.
    """
    row = (v, references.count(v))
    gains = [0.0] * horizon
    for chance, future in all_futures(model, references, horizon):
        transformed, _ = as_join([*references, *future])
        for d, pair in enumerate(transformed[len(references) :]):
            gains[d] += chance * (pair == row)
    return list(accumulate(gains))


def all_futures(model, references, horizon):
    """Yield (chance, values) for all that the next `horizon` references may be."""
    if horizon == 0:
        yield 1.0, ()
        return
    for v, p in model.law(len(references), references[-1]).items():
        for chance, later in all_futures(model, [*references, v], horizon - 1):
            yield p * chance, (v, *later)
