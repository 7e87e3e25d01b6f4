"""What a cache knows of a value: an interval, which may move with time.

Nearly all intervals stand still. Those that move do so in a way that both ends can work out: after
`elapsed` units of time both bounds have drifted by `drift` × elapsed, or each lies
`spread` × elapsed ** `power` further out.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from .rounding import down, up
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
    at: float = 0.0  # when it was made
    drift: float = 0.0
    spread: float = 0.0
    power: float = 0.0

    @property
    def moves(self) -> bool:
        """Whether its bounds depend on the time."""
        return self.drift != 0 or self.spread != 0

    def bounds(self, now: float) -> tuple[float, float]:
        """Return the bounds at a time."""
        if not self.moves:
            return self.low, self.high
        if self.spread != 0:  # rounding cannot let it shrink, and it contains what it began with
            return moved(self.low, self.high, now - self.at, self.drift, self.spread, self.power)
        shift = Fraction(self.drift) * (Fraction(now) - Fraction(self.at))
        low = down(Fraction(self.low) + shift) if self.low > -math.inf else self.low
        return low, up(Fraction(self.high) + shift) if self.high < math.inf else self.high

    def contains(self, value: float, now: float) -> bool:
        """Tell whether the interval is still valid."""
        low, high = self.bounds(now)
        return low <= value <= high

    def until(self, value: float) -> float:
        """Return when this value will be outside if it does not change; infinity: never.

        At that time at the latest, and rounded down, so that it is not outside before.
        """
        if self.drift == 0:
            return math.inf
        end = self.low if self.drift > 0 else self.high
        if math.isinf(end):
            return math.inf
        return down(Fraction(self.at) + (Fraction(value) - Fraction(end)) / Fraction(self.drift))


EVERYTHING = Interval(-math.inf, math.inf)


@hook
def ends(value, rounded):
    """Return the floats between which a value lies; a rounded one lies between its neighbours.

    >>> ends(1.5, False), ends(2.0**53, True)
    ((1.5, 1.5), (9007199254740991.0, 9007199254740994.0))
    """
    if rounded:
        return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    return value, value


@hook
def around(low, high, value, rounded):
    """Return an interval, widened where it must be in order to contain the value.

    Of values near the largest float a rule may make bounds that are no numbers.

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
