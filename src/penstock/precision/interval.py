"""What a cache knows of a value: an interval, which may move with time.

Nearly all intervals stand still. Those that move do so in a way that both ends can work out: after
`elapsed` units of time both bounds have drifted by `drift` × elapsed, or each lies
`spread` × elapsed ** `power` further out.
"""

import math
from typing import NamedTuple

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
        return moved(self.low, self.high, now - self.at, self.drift, self.spread, self.power)

    def contains(self, value: float, now: float) -> bool:
        """Tell whether the interval is still valid."""
        low, high = self.bounds(now)
        return low <= value <= high

    def until(self, value: float) -> float:
        """Return when this value will be outside if it does not change; infinity: never."""
        if self.drift == 0:
            return math.inf
        room = value - self.low if self.drift > 0 else self.high - value
        return self.at + room / abs(self.drift)


EVERYTHING = Interval(-math.inf, math.inf)


@hook
def moved(low, high, elapsed, drift, spread, power):
    """Return the bounds of a moving interval after some time."""
    shift = drift * elapsed
    wider = spread * elapsed**power
    return low + shift - wider, high + shift + wider
