"""Alarm limits: no interval ever straddles one, so that a crossing is never hidden."""

import math
from collections.abc import Iterable

from .checks import number
from .rule import hook


def check_limits(limits: Iterable[float]) -> tuple[float, ...]:
    """Return the limits in order.

    >>> check_limits([30, 10])
    (10.0, 30.0)
    """
    return tuple(sorted(number("an alarm limit", limit) for limit in limits))


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
