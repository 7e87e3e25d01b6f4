"""What a source sends to a cache."""

import math
from typing import NamedTuple

from .interval import Interval


class Refresh(NamedTuple):
    """The value of a key and the interval to hold from now on.

    Of two messages about one key the one with the larger (run, number) is the later one, in
    whatever order they arrive.
    """

    key: str
    value: float  # exact, when it was sent, unless `rounded`
    interval: Interval
    rank: float  # the original width: a full cache lets the largest go
    why: int  # ABOVE, BELOW, ASKED or SPOKE: see rule.py
    run: int  # grows when the source is started anew
    number: int  # grows with every message of a run
    sent: float
    max_silence: float = math.inf  # if nothing newer comes for so long, the source is lost
    rounded: bool = False  # the value is no float and lies between the neighbours of `value`

    @property
    def order(self) -> tuple[int, int]:
        """What later messages have more of."""
        return self.run, self.number
