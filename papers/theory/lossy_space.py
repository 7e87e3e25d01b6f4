"""The paper's bounds and estimates of the number of keys that lossy counting holds.

Keys are given by their popularity: the probability of each to occur next. The exact mean in the
long run is `penstock.profile.lossy.steady_entries`.

Source: sections 3.2 and 4.2 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting
Reference Locality in Data Stream Applications" (ICDE 2006). Departures: equation 5 counts a
frequent key many times over, which `capped` repairs; the characteristic matrix is not raised to
powers, because a recurrence gives the same rows, and neighbouring powers are not subtracted,
because each of them already concerns about one bucket.
"""

from typing import Any, NamedTuple

import numpy as np

from penstock.errors import BadInput
from penstock.extras import need
from penstock.profile.lossy import NEGLIGIBLE, bucket_width, probabilities, share


class LocalityEstimate(NamedTuple):
    """The number of keys that the next buckets are expected to hold, one value per bucket."""

    counted: np.ndarray  # int64[buckets]: keys expected at least once, as the paper counts
    expected: np.ndarray  # float64[buckets]: the same with rarer keys counted by their probability


def theorem_2(epsilon: float, z: float) -> float:
    """Return the bound on the keys held if they are drawn from a Zipf law with 1 < z <= 2.

    The paper's table 1 prints 3,869 for the first of these: it rounds 4 / 2 ** 0.1 to 3.73.

    >>> [round(theorem_2(0.001, z), 1) for z in (1.1, 1.3, 1.5)]
    [3870.5, 2409.0, 2089.4]
    """
    error = float(share("epsilon", epsilon))
    if not 1 < z <= 2:
        raise BadInput(f"z must be above 1 and at most 2 for this bound, got {z!r}")
    return float(2 / error + 4 / (2 ** (z - 1) * error ** (2 - z)))


def equation_5(popularity: Any, epsilon: float, buckets: int, *, capped: bool = True) -> float:
    """Return the paper's bound on the keys held after this many buckets of independent draws.

    As printed (`capped=False`) a frequent key counts once for every bucket in which it could have
    been inserted, and the sum grows with the stream. It is held once, so it counts once here.

    >>> zipf = 1 / np.arange(1, 3001) ** 1.3
    >>> zipf /= zipf.sum()
    >>> round(equation_5(zipf, 0.001, 100)), round(equation_5(zipf, 0.001, 100, capped=False))
    (163, 82487)
    """
    if buckets < 1:
        raise BadInput(f"buckets must be at least 1, got {buckets}")
    betainc = need("scipy.special", "equation 5").betainc
    width = bucket_width(epsilon)
    chance, times = np.unique(probabilities(popularity), return_counts=True)
    total = np.zeros(len(chance))
    for i in range(2, buckets + 1):
        # Pr(X >= i - 1) in the trials of i - 1 buckets, as a regularised beta function.
        trials = width * (i - 1)
        held = betainc(i - 1, trials - i + 2, chance)
        term = chance * width * held
        total += term
        if capped and (term[total < 1] < NEGLIGIBLE).all():
            break
    if capped:
        total = np.minimum(1.0, total)
    return float(total @ times)


def locality_entries(
    a: Any, b: float, popularity: Any, history: Any, epsilon: float, buckets: int = 1
) -> LocalityEstimate:
    """Return what the next buckets hold if the stream follows a locality model.

    a: the probabilities a_1, a_2, ... that the next item repeats the last one, the one before, ...
    b: the probability that it is drawn from the popularity instead; all of these sum to 1.
    popularity: the probability of each key 0, 1, ... when it is drawn.
    history: the last items, the latest at the end, as keys 0, 1, ...; at least as many as `a` has.
    buckets: the number of buckets to look ahead: k in the paper.

    >>> ahead = locality_entries([0.5], 0.5, [0.9, 0.1, 0.0], [2], epsilon=0.25, buckets=2)
    >>> ahead.counted.tolist(), ahead.expected.round(2).tolist()
    ([1, 1], [2.24, 1.45])
    """
    repeat, chance = np.asarray(a, np.float64), probabilities(popularity)
    last = np.asarray(history, np.int64)
    h = len(repeat)
    if (repeat < 0).any() or b < 0 or abs(repeat.sum() + b - 1) > 1e-6:
        total = repeat.sum() + b
        raise BadInput(f"a and b must be probabilities that sum to 1, got a sum of {total:g}")
    if len(last) < h or (h and not 0 <= last.min() <= last.max() < len(chance)):
        raise BadInput(
            f"history must hold at least {h} keys from 0 to {len(chance) - 1}, got {len(last)}"
        )
    width = bucket_width(epsilon)
    last = last[::-1][:h]  # x_{n-1}, x_{n-2}, ...
    # Row t of the powers of M: how x_{n+t} depends on x_{n-1}, ..., x_{n-h} and, last, on Y.
    recent = np.eye(h, h + 1)
    counted, expected = [], []
    for _ in range(buckets):
        weight = np.zeros(h + 1)
        for _ in range(width):
            row = repeat @ recent
            row[h] += b
            recent = np.concatenate((row[None], recent[:-1])) if h else recent
            weight += row
        times = weight[h] * chance
        np.add.at(times, last, weight[:h])
        counted.append(int((times >= 1 - 1e-9).sum()))
        expected.append(float(np.minimum(1.0, times).sum()))
    return LocalityEstimate(np.array(counted), np.array(expected))
