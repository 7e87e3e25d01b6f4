"""Last-r majority: the width follows what most of the last r refreshes say.

With r = 1 it is the adaptive rule. The paper found no r that did better.

Source: the precision paper, section 4.5. It does not say what becomes of ρ; here a change of the
width counts with the probability that the adaptive rule gives to a change in its direction.
"""

from typing import NamedTuple

from ..checks import count, number
from ..costs import Costs
from ..rule import ASKED, SPOKE, WIDTH, Rule, hook
from .adaptive import counts, narrowed, widened

NEXT, VALUES, SEEN, FIRST = 1, 2, 3, 4  # places in the memory; from FIRST on a ring of r refreshes


class Par(NamedTuple):
    """As of the adaptive rule, and how many refreshes vote."""

    widen: float
    narrow: float
    factor: float
    width: float
    r: int


def make(costs: Costs, alpha: float = 1.0, width: float = 1.0, r: int = 3) -> Par:
    """Check the parameters."""
    return Par(
        min(costs.rho, 1.0),
        min(1 / costs.rho, 1.0),
        1 + number("alpha", alpha, 0),
        number("width", width, 0, above=True),
        count("r", r, 1),
    )


def start(par: Par) -> tuple[float, ...]:
    """Return a memory without votes."""
    return (par.width, 0.0, 0.0, 0.0) + (0.0,) * par.r


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Take the vote in, and let the majority decide; a tie narrows."""
    if why == SPOKE:
        return
    vote = 0.0 if why == ASKED else 1.0
    place = FIRST + int(memory[NEXT])
    memory[VALUES] += vote - memory[place]
    memory[place] = vote
    memory[NEXT] = (memory[NEXT] + 1) % par.r
    memory[SEEN] = min(memory[SEEN] + 1, par.r)
    wider = 2 * memory[VALUES] > memory[SEEN]
    if counts(par, why if wider == (vote == 1.0) else _other(why), draw):
        if wider:
            memory[WIDTH] = widened(par, memory[WIDTH])
        else:
            memory[WIDTH] = narrowed(par, memory[WIDTH])


@hook
def _other(why):
    """Return a reason for the opposite change."""
    return 0 if why == ASKED else ASKED


@hook
def shape(par, memory, value):
    """Centre the width on the value."""
    half = memory[WIDTH] / 2
    return value - half, value + half, 0.0, 0.0, 0.0


MAJORITY = Rule(
    "majority", "the last r refreshes vote on the width", make, start, on_refresh, shape
)
