"""Alarm limits: no interval ever straddles one, so that a crossing is never hidden."""

import math
from collections.abc import Iterable

from .checks import number
from .rounding import up
from .rule import hook


def check_limits(limits: Iterable[float]) -> tuple[float, ...]:
    """Return the limits in order; one that is no float as the next float above.

    A float is at or above the one just where it is at or above the other.

    >>> check_limits([30, 10]), check_limits([2**53 + 1])
    ((10.0, 30.0), (9007199254740994.0,))
    """
    return tuple(sorted(_check(limit) for limit in limits))


def _check(limit: float) -> float:
    number("an alarm limit", limit)
    return up(limit)


@hook
def keep_off(low, high, value, limits):
    """Cut the interval back to the side of each limit that the value is on.

    A value at the limit counts as above it.

    >>> keep_off(20.0, 40.0, 29.5, (30.0,))
    (20.0, 29.999999999999996)
    >>> keep_off(20.0, 40.0, 30.0, (30.0,))
    (30.0, 40.0)
    """
    for limit in limits:
        if value >= limit:
            low = max(low, limit)
        else:
            high = min(high, math.nextafter(limit, -math.inf))
    return low, high
