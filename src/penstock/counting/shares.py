"""Shares of a stream, epsilon and support, taken as the decimals that they are written as.

0.1 stands for one tenth here and not for the binary number next to it: with that one, a key whose
share is exactly the support could be missed.
"""

import math
from fractions import Fraction
from typing import Any

from ..errors import BadInput


def share(name: str, value: Any, highest: str = "below 1") -> Fraction:
    """Return a share above 0; the `highest` is either "below 1" or "at most 1".

    >>> share("epsilon", 0.001)
    Fraction(1, 1000)
    """
    number = _number(value)
    if number is None or not 0 < number <= 1 or (highest == "below 1" and number == 1):
        raise BadInput(f"{name} must be above 0 and {highest}, got {value!r}")
    return number


def bucket_width(epsilon: Any) -> int:
    """Return how many items make a bucket: w = 1 / epsilon, rounded up.

    >>> bucket_width(0.001), bucket_width(0.3), bucket_width(1 / 3)
    (1000, 4, 3)
    """
    exact = share("epsilon", epsilon)
    nearest = round(1 / exact)
    return nearest if float(exact) == 1 / nearest else math.ceil(1 / exact)


def check_support(support: Any, epsilon: Any) -> Fraction:
    """Return the support, which must be above epsilon: else every key could be frequent."""
    wanted = share("support", support, "at most 1")
    if wanted <= share("epsilon", epsilon):
        raise BadInput(
            f"support must be above epsilon, got support {support} and epsilon {epsilon};"
            " a tenth of the support is a good epsilon"
        )
    return wanted


def _number(value: Any) -> Fraction | None:
    try:
        return value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):  # not a number, infinite, or no number at all
        return None
