"""Numbers as floats that are sure to lie on one side of them, and sums without any rounding.

A bound that is rounded to the nearest float may exclude the truth. So bounds are computed exactly,
as fractions, and rounded once, outward.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

Exact = Fraction | float  # floats stand for infinities alone


def down(number: Any) -> float:
    """Return the largest float that is not above a number.

    >>> down(9007199254740993), down(Fraction(1, 3)) < Fraction(1, 3), down(10**400)
    (9007199254740992.0, True, 1.7976931348623157e+308)
    """
    number, near = _plain(number), nearest(number)
    return near if near <= number else math.nextafter(near, -math.inf)


def up(number: Any) -> float:
    """Return the smallest float that is not below a number.

    >>> up(9007199254740993), up(0.1), up(10**400)
    (9007199254740994.0, 0.1, inf)
    """
    number, near = _plain(number), nearest(number)
    return near if near >= number else math.nextafter(near, math.inf)


def nearest(number: Any) -> float:
    """Return a number as a float; as an infinity where it is beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_rounded(number: Any) -> bool:
    """Tell whether a number is not itself a float.

    >>> is_rounded(2**53), is_rounded(2**53 + 1), is_rounded(np.int64(2**53 + 1))
    (False, True, True)
    """
    return nearest(number) != _plain(number)


def exact(number: float) -> Exact:
    """Return a float as a fraction, an infinity as itself."""
    return Fraction(number) if math.isfinite(number) else number


def width(low: Exact, high: Exact) -> Exact:
    """Return how far apart two ends are, exactly.

    >>> width(Fraction(1, 3), Fraction(1)), width(-math.inf, Fraction(1))
    (Fraction(2, 3), inf)
    """
    known = isinstance(low, Fraction) and isinstance(high, Fraction)
    return high - low if known else math.inf


def total(numbers: Sequence[float]) -> Exact:
    """Return the exact sum; of numbers with an infinity, that infinity.

    >>> total([0.1] * 10) == 10 * Fraction(0.1), total([1e308, 1e308, -1e308]) == Fraction(1e308)
    (True, True)
    """
    try:
        rest = math.fsum(numbers)
        if math.isinf(rest):
            return rest
        # What fsum rounds off is again a sum of the same numbers, less what is known of it.
        parts = []
        while rest:
            parts.append(rest)
            rest = math.fsum((*numbers, *(-part for part in parts)))
        return sum(map(Fraction, parts), Fraction(0))
    except OverflowError:  # the sum, or a sum on the way to it, is beyond all floats
        infinite = [number for number in numbers if math.isinf(number)]
        return infinite[0] if infinite else sum(map(Fraction, numbers), Fraction(0))


def add_down(numbers: np.ndarray, more: float) -> np.ndarray:
    """Return numbers + more, rounded down.

    >>> add_down(np.array([1.0, 0.5]), 2.0**-60).tolist(), add_down(np.array([1.0]), 2.0).tolist()
    ([1.0, 0.5], [3.0])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        made = numbers + more
        there = made - numbers
        error = (numbers - (made - there)) + (more - there)  # Knuth: exactly what was rounded off
        return np.where((error < 0) | (made == np.inf), np.nextafter(made, -np.inf), made)


def _plain(number: Any) -> Any:
    """Return NumPy's integers as Python's, which compare with floats exactly."""
    return int(number) if isinstance(number, Integral) else number
