"""How many keys lossy counting will hold, and the smallest epsilon that a memory can afford.

Keys are given by their popularity: how likely each of them is to come next, in any order. Memory is
counted in keys held.

Source: sections 3.2 and 4.2 of the locality paper. Departures, each told where it is made: equation
5 counts a frequent key many times over; the characteristic matrix is not raised to its powers, for
a recurrence gives the same rows, and neighbouring powers are not subtracted, for each of them is
about one bucket already; algorithm 3 does not end as printed.

What a key does to the table has an exact form, which needs none of this. Let v be its count + slack
- buckets so far, 0 where it is not held. Each bucket adds the number of times it came and takes
one away, but never below 0: a queue that serves one customer a bucket. In the long run as many are
served as come, so the key is held at the end of a share of min(1, popularity / epsilon) of the
buckets, just before they are pruned, and that however its occurrences are clustered. The sum over
all keys is `steady_entries`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..extras import need
from .shares import bucket_width, share

LARGEST_WIDTH = 1 << 40  # items in a bucket: epsilon is not sought below 1e-12
NEGLIGIBLE = 1e-12


class LocalityEstimate(NamedTuple):
    """What the next buckets are expected to hold, one value per bucket."""

    counted: np.ndarray  # int64[buckets]: keys expected at least once, as the paper counts
    expected: np.ndarray  # float64[buckets]: the same with rarer keys counted by their chance


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


def steady_entries(popularity: Any, epsilon: float) -> float:
    """Return how many keys are held on average at the end of a bucket, before it is pruned.

    True in the long run of any stationary stream; a stream that is just starting holds fewer.

    >>> steady_entries([0.5, 0.3, 0.1, 0.1], epsilon=0.2)
    3.0
    """
    chance = _probabilities(popularity)
    return float(np.minimum(1.0, chance * bucket_width(epsilon)).sum())


def equation_5(popularity: Any, epsilon: float, buckets: int, *, capped: bool = True) -> float:
    """Return the paper's bound on the keys held after so many buckets of independent draws.

    As printed (`capped=False`) a key that is frequent counts once for every bucket that it could
    have entered in, and the sum grows with the stream. It is held once, so it counts once here.

    >>> zipf = 1 / np.arange(1, 3001) ** 1.3
    >>> zipf /= zipf.sum()
    >>> round(equation_5(zipf, 0.001, 100)), round(equation_5(zipf, 0.001, 100, capped=False))
    (163, 82487)
    """
    if buckets < 1:
        raise BadInput(f"buckets must be at least 1, got {buckets}")
    betainc = need("scipy.special", "equation 5").betainc
    width = bucket_width(epsilon)
    chance, times = np.unique(_probabilities(popularity), return_counts=True)
    total = np.zeros(len(chance))
    for i in range(2, buckets + 1):
        # Pr(X >= i - 1) of i - 1 buckets' trials, as a regularised beta function.
        trials = width * (i - 1)
        alive = betainc(i - 1, trials - i + 2, chance)
        term = chance * width * alive
        total += term
        if capped and (term[total < 1] < NEGLIGIBLE).all():
            break
    if capped:
        total = np.minimum(1.0, total)
    return float(total @ times)


def locality_entries(
    a: Any, b: float, popularity: Any, history: Any, epsilon: float, buckets: int = 1
) -> LocalityEstimate:
    """Return what the next buckets hold if the stream repeats itself as a locality model says.

    a: the chances a_1, a_2, ... that the next item repeats the last one, the last but one, ...
    b: the chance that it is drawn from the popularity instead; all of these sum to 1.
    popularity: how likely each key 0, 1, ... is when it is drawn.
    history: the last items, the latest at the end, as keys 0, 1, ...; as many as there are in `a`.
    buckets: how many buckets to look ahead: k in the paper.

    >>> ahead = locality_entries([0.5], 0.5, [0.9, 0.1, 0.0], [2], epsilon=0.25, buckets=2)
    >>> ahead.counted.tolist(), ahead.expected.round(2).tolist()
    ([1, 1], [2.24, 1.45])
    """
    repeat, chance = np.asarray(a, np.float64), _probabilities(popularity)
    last = np.asarray(history, np.int64)
    h = len(repeat)
    if (repeat < 0).any() or b < 0 or abs(repeat.sum() + b - 1) > 1e-6:
        raise BadInput(f"a and b must be chances that sum to 1, got a sum of {repeat.sum() + b:g}")
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


def m_to_epsilon(
    memory: int,
    entries: Callable[[float], float],
    support: float = 1.0,
    length: int = LARGEST_WIDTH,
) -> float:
    """Return the smallest epsilon with which lossy counting is expected to fit in a memory.

    memory: how many keys may be held.
    entries: the keys held for an epsilon, such as `steady_entries`; it must not fall as epsilon
        does.
    support: the answer lies below it.
    length: how many items will come; no smaller epsilon than one that makes counts exact is sought.

    The answer is 1 / w for a whole number w of items in a bucket, found by bisection. Algorithm 3
    of the paper does not get there: both of its branches set e1, the upper end, to the epsilon that
    they are about to try, so the first time that it has gone too low, the step up, (e1 - e2) / 2,
    is 0, and it tries the same epsilon for ever. Nor does it end where the memory is enough for all
    keys, or too small for any epsilon; and it may end above the memory.

    >>> m_to_epsilon(3, lambda epsilon: steady_entries([0.5, 0.3, 0.1, 0.1], epsilon))
    0.2
    """
    if memory < 1:
        raise BadInput(f"memory must be at least 1 key, got {memory}")

    def fits(width: int) -> bool:
        return entries(1 / width) <= memory * (1 + NEGLIGIBLE)

    low = int(1 / share("support", support, "at most 1")) + 1  # so that epsilon is below it
    if not fits(low):
        raise BadInput(
            f"memory {memory} is too small for any epsilon below the support {support}: even"
            f" {1 / low:g} needs {entries(1 / low):,.0f} keys; give more memory or a higher support"
        )
    longest = max(low, length + 1)  # a bucket that never ends: nothing is ever forgotten
    high = min(2 * low, longest)
    while fits(high):
        if high == longest:
            return 1 / longest
        low, high = high, min(2 * high, longest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1 / low


def _probabilities(popularity: Any) -> np.ndarray:
    chance = np.asarray(popularity, np.float64)
    if chance.ndim != 1 or not len(chance) or not (chance >= 0).all():
        raise BadInput("popularity must be a list of chances of at least 0, one for each key")
    if abs(chance.sum() - 1) > 1e-6:
        raise BadInput(f"popularity must sum to 1, got {chance.sum():g}")
    return chance
