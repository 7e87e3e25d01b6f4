"""Uncentred intervals: an upper and a lower width, each adapted by itself.

A value that leaves above widens only what lies above; one that leaves below only what lies below;
a query narrows both. For values that mostly rise or mostly fall. The paper found it worse than the
centred rule on unbiased walks, and slightly better on biased ones.

Source: the precision paper, section 4.5. Departure: neither width falls below a thousandth of the
other. A side that the value never leaves is only ever narrowed; without a floor it would sink to
nothing, and once the trend turned it would take a long row of refreshes to grow again.
"""

from typing import NamedTuple

from ..checks import number
from ..costs import Costs
from ..rule import ABOVE, ASKED, BELOW, WIDTH, Rule, hook
from .adaptive import counts, narrowed, widened

LOWER, UPPER = 1, 2  # places in the memory; the first one holds their sum
LEAST = 0.001


class Par(NamedTuple):
    """As of the adaptive rule."""

    widen: float
    narrow: float
    factor: float
    width: float


def make(costs: Costs, alpha: float = 1.0, width: float = 1.0) -> Par:
    """Check the parameters; `width` is that of both sides together."""
    return Par(
        min(costs.rho, 1.0),
        min(1 / costs.rho, 1.0),
        1 + number("alpha", alpha, 0),
        number("width", width, 0, above=True),
    )


def start(par: Par) -> tuple[float, ...]:
    """Return a memory of equal sides."""
    return (par.width, par.width / 2, par.width / 2)


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Widen the side that the value left; narrow both when a query asks."""
    if not counts(par, why, draw):
        return
    if why == ASKED:
        memory[LOWER] = narrowed(par, memory[LOWER])
        memory[UPPER] = narrowed(par, memory[UPPER])
    elif why == BELOW:
        memory[LOWER] = widened(par, memory[LOWER])
    elif why == ABOVE:
        memory[UPPER] = widened(par, memory[UPPER])
    memory[LOWER] = max(memory[LOWER], LEAST * memory[UPPER])
    memory[UPPER] = max(memory[UPPER], LEAST * memory[LOWER])
    memory[WIDTH] = memory[LOWER] + memory[UPPER]


@hook
def shape(par, memory, value):
    """Put each width on its side."""
    return value - memory[LOWER], value + memory[UPPER], 0.0, 0.0, 0.0


UNCENTRED = Rule(
    "uncentred",
    "an upper and a lower width, each adapted by itself",
    make,
    start,
    on_refresh,
    shape,
)
