"""Profiles of streams, the slow way: distances by looking back, likelihood by the definition."""

import math
from collections import Counter


def distances(keys):
    """Return how often each inter-arrival distance occurs."""
    found = Counter()
    for now, key in enumerate(keys):
        for back in range(1, now + 1):
            if keys[now - back] == key:
                found[back] += 1
                break
    return found


def stack_distances(keys):
    """Return the place of each key in the stack of those seen, from 1; 0: it is new."""
    stack = []  # the last used in front
    found = []
    for key in keys:
        if key in stack:
            found.append(stack.index(key) + 1)
            stack.remove(key)
        else:
            found.append(0)
        stack.insert(0, key)
    return found


def next_key(past, a, b, popularity):
    """Return the distribution of the next key, by the locality model."""
    law = {key: b * p for key, p in popularity.items()}
    for lag, weight in enumerate(a, start=1):
        law[past[-lag]] += weight
    return law


def _shares(keys):
    return {key: count / len(keys) for key, count in Counter(keys).items()}


def log_likelihood(keys, a, b):
    """Return the log-probability of the keys after the first len(a)."""
    shares = _shares(keys)
    return sum(
        math.log(next_key(keys[:now], a, b, shares)[keys[now]]) for now in range(len(a), len(keys))
    )


def entropy(keys, a, b):
    """Return the mean entropy, in bits, of the keys after the first len(a), given those before."""
    shares = _shares(keys)
    laws = [next_key(keys[:now], a, b, shares) for now in range(len(a), len(keys))]
    return sum(-p * math.log2(p) for law in laws for p in law.values() if p > 0) / len(laws)


def squared_error(ranks, a, b):
    """Return the error that the paper's least squares minimises; ranks are from 1."""
    mean = sum(ranks) / len(ranks)
    h = len(a)
    return sum(
        (ranks[now] - b * mean - sum(w * ranks[now - j] for j, w in enumerate(a, start=1))) ** 2
        for now in range(h, len(ranks))
    )


def equation_1(share, k):
    """The share of independent draws whose key is repeated after exactly k, by its popularity."""
    return sum(p**2 * (1 - p) ** (k - 1) for p in share)
