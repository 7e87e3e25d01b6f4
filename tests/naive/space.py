"""The locality paper's formulas of space, as they are printed, and step by step."""

import math

import numpy as np


def equation_5(popularity, width, buckets):
    total = 0.0
    for i in range(2, buckets + 1):
        trials = width * (i - 1)
        for p in popularity:
            tail = sum(
                math.comb(trials, k) * p**k * (1 - p) ** (trials - k)
                for k in range(i - 1, trials + 1)
            )
            total += p * width * tail
    return total


def characteristic_matrix(a, b, size):
    """M of equation 3, for a window of `size` items."""
    m = np.zeros((size + 1, size + 1))
    m[0, : len(a)] = a
    m[0, size] = b
    for i in range(1, size):
        m[i, i - 1] = 1
    m[size, size] = 1
    return m


def occurrences(a, b, popularity, history, width, bucket):
    """Lemma 3 in a bucket ahead, 0 for the next one: how often each key is expected."""
    power = np.linalg.matrix_power(characteristic_matrix(a, b, width), width * (bucket + 1))
    sums = power[:width].sum(axis=0)
    latest_first = list(history)[::-1][:width]
    return [
        sum(sums[j] for j, key in enumerate(latest_first) if key == e) + sums[width] * p
        for e, p in enumerate(popularity)
    ]


def algorithm_3(memory, entries, support, threshold, rounds):
    """M-to-epsilon as printed; returns the epsilons tried, at most `rounds` of them."""
    epsilon, e1, e2, needed = support, support, 0.0, 0.0
    tried = []
    while abs(memory - needed) > threshold and len(tried) < rounds:
        tried.append(epsilon)
        needed = entries(epsilon)
        if needed < memory:
            epsilon = epsilon - (e1 - e2) / 2
            e1 = epsilon
        else:
            e2 = epsilon
            epsilon = epsilon + (e1 - e2) / 2
            e1 = epsilon
    return tried
