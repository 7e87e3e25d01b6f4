"""Intervals that grow with time, and intervals that drift.

The width is W × elapsed ** power, from 0 at the refresh on: the longer ago, the less is known. With
`drift` the width stays W, and both bounds move at the average rate of the value: for values with
a trend. W is adapted as in the adaptive rule. The paper found that growing does not pay, and that
drift pays for biased walks.

Source: the precision paper, section 4.5. Departure: the paper does not say how its rate is found;
here it is an exponential average of the change of the value per unit of time.
"""

from typing import NamedTuple

from ..checks import number
from ..costs import Costs
from ..rule import WIDTH, Rule, hook
from .adaptive import LARGEST, on_refresh

LAST, WHEN, RATE, SEEN = 1, 2, 3, 4  # places in the memory
MEMORY = 50.0  # updates over which the rate is averaged


class Par(NamedTuple):
    """As of the adaptive rule, and how the interval moves."""

    widen: float
    narrow: float
    factor: float
    width: float
    power: float
    drift: bool


def make(
    costs: Costs,
    alpha: float = 1.0,
    width: float = 1.0,
    power: float = 0.5,
    drift: bool = False,
) -> Par:
    """Check the parameters; with `drift` the power does not matter."""
    return Par(
        min(costs.rho, 1.0),
        min(1 / costs.rho, 1.0),
        1 + number("alpha", alpha, 0),
        number("width", width, 0, above=True),
        number("power", power, 0, above=True),
        bool(drift),
    )


def start(par: Par) -> tuple[float, ...]:
    """Return a memory of no updates."""
    return (par.width, 0.0, 0.0, 0.0, 0.0)


@hook
def on_update(par, memory, value, now):
    """Average the rate of change."""
    if memory[SEEN] > 0 and now > memory[WHEN]:
        rate = (value - memory[LAST]) / (now - memory[WHEN])
        rate = min(max(rate, -LARGEST), LARGEST)
        memory[RATE] += (rate - memory[RATE]) / min(memory[SEEN], MEMORY)
    memory[LAST] = value
    memory[WHEN] = now
    memory[SEEN] += 1.0


@hook
def shape(par, memory, value):
    """Start as a point that widens, or as an interval that moves."""
    half = memory[WIDTH] / 2
    if par.drift:
        return value - half, value + half, memory[RATE], 0.0, 0.0
    return value, value, 0.0, half, par.power


GROWING = Rule(
    "growing",
    "the width grows with time, or the interval drifts with the value",
    make,
    start,
    on_refresh,
    shape,
    on_update=on_update,
    moves=True,
)
