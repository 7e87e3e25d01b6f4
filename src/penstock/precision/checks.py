"""Refuse numbers that make no sense, each in one sentence."""

import math
from numbers import Real
from typing import Any

from ..errors import BadInput


def number(name: str, value: Any, low: float = -math.inf, *, above: bool = False) -> float:
    """Return a finite number of at least `low`, or above it; refuse everything else.

    >>> number("delta", 2, 0)
    2.0
    >>> number("delta", -1, 0)
    Traceback (most recent call last):
    penstock.errors.BadInput: delta must be a number of at least 0, got -1
    """
    if _is_real(value) and math.isfinite(value) and (value > low or (value == low and not above)):
        return float(value)
    raise BadInput(f"{name} must be a {_bound(low, above)}, got {value!r}")


def width(name: str, value: Any) -> float:
    """Return a width: a number of at least 0, or infinity.

    >>> width("tau_inf", float("inf"))
    inf
    """
    if _is_real(value) and value >= 0:
        return float(value)
    raise BadInput(f"{name} must be a number of at least 0, or inf, got {value!r}")


def count(name: str, value: Any, low: int) -> int:
    """Return a whole number of at least `low`.

    >>> count("sources", 0, 1)
    Traceback (most recent call last):
    penstock.errors.BadInput: sources must be a whole number of at least 1, got 0
    """
    if _is_real(value) and value == value // 1 and value >= low:
        return int(value)
    raise BadInput(f"{name} must be a whole number of at least {low}, got {value!r}")


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _bound(low: float, above: bool) -> str:
    if low == -math.inf:
        return "finite number"
    return f"number above {low:g}" if above else f"number of at least {low:g}"
