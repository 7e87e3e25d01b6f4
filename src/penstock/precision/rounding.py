"""Numbers from outside: exact as fractions, and rounded outward to floats.

A bound that is rounded to the nearest float may exclude the true value. So bounds are computed
exactly, as fractions, and rounded once, outward.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from ..errors import BadInput
from ..numeric import is_real, shown, to_float

Exact = Fraction | float  # a float stands for an infinity only


def down(number: Any) -> float:
    """Return the largest float that is not above a number.

    >>> down(9007199254740993), down(Fraction(1, 3)) < Fraction(1, 3), down(10**400)
    (9007199254740992.0, True, 1.7976931348623157e+308)
    """
    near = to_float(number)
    return near if near <= _plain(number) else math.nextafter(near, -math.inf)


def up(number: Any) -> float:
    """Return the smallest float that is not below a number.

    >>> up(9007199254740993), up(0.1), up(10**400)
    (9007199254740994.0, 0.1, inf)
    """
    near = to_float(number)
    return near if near >= _plain(number) else math.nextafter(near, math.inf)


def is_rounded(number: Any) -> bool:
    """Tell whether no float equals a number.

    >>> is_rounded(2**53), is_rounded(2**53 + 1), is_rounded(np.int64(2**53 + 1))
    (False, True, True)
    """
    return to_float(number) != _plain(number)


def _plain(number: Any) -> Any:
    """Return an integer of NumPy as a Python integer, which compares with floats exactly."""
    return int(number) if isinstance(number, Integral) else number


def exact(number: float) -> Exact:
    """Return a float as a fraction, and an infinity unchanged."""
    return Fraction(number) if math.isfinite(number) else number


def exact_width(low: Exact, high: Exact) -> Exact:
    """Return the exact distance between two ends.

    >>> exact_width(Fraction(1, 3), Fraction(1)), exact_width(-math.inf, Fraction(1))
    (Fraction(2, 3), inf)
    """
    known = isinstance(low, Fraction) and isinstance(high, Fraction)
    return high - low if known else math.inf


def exact_sum(numbers: Sequence[float]) -> Exact:
    """Return the exact sum; if one of the numbers is infinite, that infinity.

    >>> exact_sum([0.1] * 10) == 10 * Fraction(0.1), exact_sum([1e308] * 2) == 2 * Fraction(1e308)
    (True, True)
    """
    try:
        rest = math.fsum(numbers)
        if math.isinf(rest):
            return rest
        # The rounding error of fsum is again the sum of the numbers less the parts known so far.
        parts = []
        while rest:
            parts.append(rest)
            rest = math.fsum((*numbers, *(-part for part in parts)))
        return sum(map(Fraction, parts), Fraction(0))
    except OverflowError:  # the sum or a partial sum is beyond all floats
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
        error = (numbers - (made - there)) + (more - there)  # Knuth: the exact rounding error
        return np.where((error < 0) | (made == np.inf), np.nextafter(made, -np.inf), made)


def check_width(name: str, value: Any) -> float:
    """Return a width: a number of at least 0, or infinity.

    >>> check_width("tau_inf", float("inf"))
    inf
    """
    if is_real(value) and value >= 0:
        return to_float(value)
    raise BadInput(f"{name} must be a number of at least 0, or inf, got {shown(value)}")
