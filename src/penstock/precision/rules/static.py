"""A fixed width: the dead-band that the field deploys, set by hand."""

from typing import NamedTuple

from ..checks import width as check_width
from ..costs import Costs
from ..rule import WIDTH, Rule, hook


class Par(NamedTuple):
    """The width, for good."""

    width: float


def make(costs: Costs, width: float = 1.0) -> Par:
    """Check the width; 0 sends every change, inf sends nothing."""
    return Par(check_width("width", width))


def start(par: Par) -> tuple[float, ...]:
    """Return a memory that holds the width alone."""
    return (par.width,)


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Learn nothing."""


@hook
def shape(par, memory, value):
    """Centre the width on the value."""
    half = memory[WIDTH] / 2
    return value - half, value + half, 0.0, 0.0, 0.0


STATIC = Rule(
    "static", "one width for good: the dead-band of the field", make, start, on_refresh, shape
)
