"""Lossy counting as Manku and Motwani tell it: a dictionary, pruned where two buckets meet."""

import math
from collections import Counter


def lossy(keys, width):
    """Return {key: (f, delta)} after all keys."""
    held = {}
    for n, key in enumerate(keys, 1):
        bucket = math.ceil(n / width)
        if key in held:
            held[key] = (held[key][0] + 1, held[key][1])
        else:
            held[key] = (1, bucket - 1)
        if n % width == 0:
            held = {k: (f, delta) for k, (f, delta) in held.items() if f + delta > bucket}
    return held


def frequent(keys, support):
    """Return {key: count} of those with at least a share of `support`, a Fraction, of all."""
    counts = Counter(keys)
    return {key: count for key, count in counts.items() if count >= support * len(keys)}
