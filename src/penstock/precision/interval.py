"""What a cache holds of a value: an interval that contains it, and the message that carries it.

Nearly all intervals are fixed. Some move with time in a way that source and cache compute alike:
after `elapsed` units of time both bounds have drifted by `drift` × elapsed, or each bound lies
`spread` × elapsed ** `power` further out.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from .rounding import check_number, down, up
from .rule import hook


class Interval(NamedTuple):
    """Bounds of a value from the time `at` on.

    >>> Interval(3.0, 5.0).bounds(now=7)
    (3.0, 5.0)
    >>> Interval(1.0, 1.0, at=10.0, spread=2.0, power=0.5).bounds(now=14)
    (-3.0, 5.0)
    >>> Interval(1.0, 3.0, at=10.0, drift=0.5).until(value=2.5)
    13.0
    """

    low: float
    high: float
    at: float = 0.0  # the time at which it was made
    drift: float = 0.0
    spread: float = 0.0
    power: float = 0.0

    def bounds(self, now: float) -> tuple[float, float]:
        """Return the bounds at a time."""
        if self.spread != 0:  # contains its first bounds, so that rounding cannot make it too small
            return moved(self.low, self.high, now - self.at, self.drift, self.spread, self.power)
        if self.drift == 0:
            return self.low, self.high
        shift = Fraction(self.drift) * (Fraction(now) - Fraction(self.at))
        low = down(Fraction(self.low) + shift) if self.low > -math.inf else self.low
        return low, up(Fraction(self.high) + shift) if self.high < math.inf else self.high

    def until(self, value: float) -> float:
        """Return the time at which a drifting interval no longer contains this value, rounded down.

        Infinity if that never happens.
        """
        end = self.low if self.drift > 0 else self.high
        if self.drift == 0 or math.isinf(end):
            return math.inf
        return down(Fraction(self.at) + (Fraction(value) - Fraction(end)) / Fraction(self.drift))


class Refresh(NamedTuple):
    """A message from a source to a cache: the value of a key, and the interval to hold from now on.

    Of two messages about one key the one with the larger (run, number) is the later one, in
    whatever order they arrive.
    """

    key: str
    value: float  # exact at the time of sending, unless `rounded`
    interval: Interval
    rank: float  # the original width: a full cache evicts the largest
    why: int  # ABOVE, BELOW, ASKED or SPOKE: see rule.py
    run: int  # grows with every restart of the source
    number: int  # grows with every message of a run
    sent: float
    max_silence: float = math.inf  # without a later message for so long the source counts as lost
    rounded: bool = False  # no float equals the value: it lies between the neighbours of `value`

    @property
    def order(self) -> tuple[int, int]:
        """The position of the message among those of its key."""
        return self.run, self.number


def check_limits(limits: Iterable[float]) -> tuple[float, ...]:
    """Return alarm limits in order; a limit that is not a float becomes the next float above.

    A float is at or above the limit exactly if it is at or above that float.

    >>> check_limits([30, 10]), check_limits([2**53 + 1])
    ((10.0, 30.0), (9007199254740994.0,))
    """
    numbers = list(limits)
    for limit in numbers:
        check_number("an alarm limit", limit)
    return tuple(sorted(map(up, numbers)))


@hook
def cut_at_limits(low, high, value, limits):
    """Cut an interval back to the side of each limit that the value is on.

    So no interval contains values on both sides of a limit, and no crossing is hidden. A value at
    the limit counts as above it.

    >>> cut_at_limits(20.0, 40.0, 29.5, (30.0,))
    (20.0, 29.999999999999996)
    >>> cut_at_limits(20.0, 40.0, 30.0, (30.0,))
    (30.0, 40.0)
    """
    for limit in limits:
        if value >= limit:
            low = max(low, limit)
        else:
            high = min(high, math.nextafter(limit, -math.inf))
    return low, high


@hook
def ends(value, rounded):
    """Return the floats between which a value lies; a rounded value lies between two neighbours.

    >>> ends(1.5, False), ends(2.0**53, True)
    ((1.5, 1.5), (9007199254740991.0, 9007199254740994.0))
    """
    if rounded:
        return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    return value, value


@hook
def around(low, high, value, rounded):
    """Return an interval, widened where necessary so that it contains the value.

    For a value near the largest float a rule may compute bounds that are NaN.

    >>> around(1.0, 2.0, 1.5, False), around(1.5, math.nan, 1.5, True)
    ((1.0, 2.0), (1.4999999999999998, 1.5000000000000002))
    """
    least, most = ends(value, rounded)
    return low if low <= least else least, high if high >= most else most


@hook
def moved(low, high, elapsed, drift, spread, power):
    """Return the bounds of a moving interval after some time."""
    shift = drift * elapsed
    wider = spread * elapsed**power
    return low + shift - wider, high + shift + wider
