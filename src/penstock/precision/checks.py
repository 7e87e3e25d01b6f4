"""Refuse numbers that make no sense, each in one sentence."""

import math
from numbers import Real
from typing import Any

from ..errors import BadInput
from .rounding import nearest

LONGEST = 40  # characters of a value in a complaint


def number(name: str, value: Any, low: float = -math.inf, *, above: bool = False) -> float:
    """Return a finite number of at least `low`, or above it; refuse everything else.

    >>> number("delta", 2, 0)
    2.0
    >>> number("delta", -1, 0)
    Traceback (most recent call last):
    penstock.errors.BadInput: delta must be a number of at least 0, got -1
    """
    if _is_real(value) and (value > low or (value == low and not above)):
        found = nearest(value)
        if math.isfinite(found):
            return found
    raise BadInput(f"{name} must be a {_bound(low, above)}, got {shown(value)}")


def width(name: str, value: Any) -> float:
    """Return a width: a number of at least 0, or infinity.

    >>> width("tau_inf", float("inf"))
    inf
    """
    if _is_real(value) and value >= 0:
        return nearest(value)
    raise BadInput(f"{name} must be a number of at least 0, or inf, got {shown(value)}")


def count(name: str, value: Any, low: int) -> int:
    """Return a whole number of at least `low`.

    >>> count("sources", 0, 1)
    Traceback (most recent call last):
    penstock.errors.BadInput: sources must be a whole number of at least 1, got 0
    """
    if _is_real(value) and value == value // 1 and value >= low:
        return int(value)
    raise BadInput(f"{name} must be a whole number of at least {low}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as it is written, cut where it is long.

    >>> shown("warm"), shown(10**100), shown(10**5000)
    ("'warm'", '1000000000000000000000000000000000000000...', 'an int too long to be written')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of more than 4,300 digits
        return f"an {type(value).__name__} too long to be written"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _bound(low: float, above: bool) -> str:
    if low == -math.inf:
        return "finite number"
    return f"number above {low:g}" if above else f"number of at least {low:g}"
