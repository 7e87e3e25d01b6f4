"""The epsilon of lossy counting: exact shares, and the smallest epsilon that a memory allows.

Epsilon and support are taken as the decimals that they are written as. 0.1 means one tenth, and not
the nearest binary number: with that one, a key whose share is exactly the support could be missed.

How many keys a counter holds follows from the popularity of the keys: the probability of each to
occur next, in any order. Let v be the count + slack - number of buckets of a key, 0 if it is not
held. Each bucket adds its occurrences to v and subtracts one, but v never falls below 0: a queue
that serves one customer per bucket. In the long run the queue serves as many customers as arrive,
so just before pruning the key is held in a share of min(1, popularity / epsilon) of all buckets,
however its occurrences are clustered. The sum over all keys is `steady_entries`.

Source: section 4.2 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006). Departure: its algorithm 3 does not terminate as
printed. Both of its branches set the upper end e1 to the epsilon that they are about to try, so
after the first step too low the step up, (e1 - e2) / 2, is 0, and the same epsilon is tried for
ever. `m_to_epsilon` uses bisection.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import BadInput
from ..numeric import Floats

LARGEST_WIDTH = 1 << 40  # items in a bucket: no epsilon below 1e-12 is tried
NEGLIGIBLE = 1e-12


def share(name: str, value: Any, highest: str = "below 1") -> Fraction:
    """Return a share above 0; the `highest` is either "below 1" or "at most 1".

    >>> share("epsilon", 0.001)
    Fraction(1, 1000)
    """
    try:
        number = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):  # not a number, or infinite
        number = Fraction(0)
    if not 0 < number <= 1 or (highest == "below 1" and number == 1):
        raise BadInput(f"{name} must be above 0 and {highest}, got {value!r}")
    return number


def bucket_width(epsilon: Any) -> int:
    """Return the number of items in a bucket: w = 1 / epsilon, rounded up.

    >>> bucket_width(0.001), bucket_width(0.3), bucket_width(1 / 3)
    (1000, 4, 3)
    """
    exact = share("epsilon", epsilon)
    nearest = round(1 / exact)
    return nearest if float(exact) == 1 / nearest else math.ceil(1 / exact)


def check_support(support: Any, epsilon: Any) -> Fraction:
    """Return the support, which must be above epsilon: otherwise every key could be frequent."""
    wanted = share("support", support, "at most 1")
    if wanted <= share("epsilon", epsilon):
        raise BadInput(
            f"support must be above epsilon, got support {support} and epsilon {epsilon};"
            " a tenth of the support is a good epsilon"
        )
    return wanted


def check_memory(memory: int) -> None:
    """Reject a memory that holds no key."""
    if memory < 1:
        raise BadInput(f"memory must be at least 1 key, got {memory}")


def steady_entries(popularity: Any, epsilon: float) -> float:
    """Return the mean number of keys held at the end of a bucket, before it is pruned.

    This is exact for a long stationary stream; a stream that has just started holds fewer.

    >>> steady_entries([0.5, 0.3, 0.1, 0.1], epsilon=0.2)
    3.0
    """
    chance = probabilities(popularity)
    return float(np.minimum(1.0, chance * bucket_width(epsilon)).sum())


def probabilities(popularity: Any) -> Floats:
    """Return the popularity of all keys as an array, if it sums to 1."""
    chance = np.asarray(popularity, np.float64)
    if chance.ndim != 1 or not len(chance) or not (chance >= 0).all():
        raise BadInput("popularity must be a list of probabilities, one for each key")
    if abs(chance.sum() - 1) > 1e-6:
        raise BadInput(f"popularity must sum to 1, got {chance.sum():g}")
    return chance


def m_to_epsilon(
    memory: int,
    entries: Callable[[float], float],
    support: float = 1.0,
    length: int = LARGEST_WIDTH,
) -> float:
    """Return the smallest epsilon with which lossy counting is expected to fit into a memory.

    memory: the largest number of keys held.
    entries: the number of keys held for an epsilon, such as `steady_entries`; it must not decrease
        as epsilon does.
    support: the answer lies below it.
    length: the number of items; an epsilon that makes counts exact is the smallest one tried.

    The answer is 1 / w for a whole number w of items in a bucket.

    >>> m_to_epsilon(3, lambda epsilon: steady_entries([0.5, 0.3, 0.1, 0.1], epsilon))
    0.2
    """
    check_memory(memory)

    def fits(width: int) -> bool:
        return entries(1 / width) <= memory * (1 + NEGLIGIBLE)

    low = int(1 / share("support", support, "at most 1")) + 1  # so that epsilon is below it
    if not fits(low):
        raise BadInput(
            f"memory {memory} is too small for any epsilon below the support {support}: even"
            f" {1 / low:g} needs {entries(1 / low):,.0f} keys; give more memory or a higher support"
        )
    longest = max(low, length + 1)  # a bucket that never ends: no key is ever removed
    high = min(2 * low, longest)
    while fits(high):
        if high == longest:
            return 1 / longest
        low, high = high, min(2 * high, longest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1 / low
