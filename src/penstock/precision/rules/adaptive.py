"""The adaptive rule of the paper: too narrow, widen; too wide, narrow.

A value that left its interval says that the interval was too narrow: the width is multiplied by
1 + α. A query that needed the exact value says that it was too wide: the width is divided by
1 + α. At the width W* of the least cost ρ P_vr = P_qr, so where ρ is not 1 the commoner of the
two events counts only with probability ρ or 1/ρ.

Widths below τ_0 are sent as 0 (an exact copy) and those of τ_∞ and above as infinite (no copy at
all); the width itself is remembered as it was.

Source: Olston, Loo, Widom, "Adaptive Precision Setting for Cached Approximate Values" (2001),
section 2; for stale values, whose interval bounds the number of unseen updates, section 4.7.
"""

import math
from typing import NamedTuple

from ..checks import number
from ..checks import width as check_width
from ..costs import Costs
from ..rule import ASKED, SPOKE, WIDTH, Rule, hook

SMALLEST, LARGEST = 1e-300, 1e300  # widths, far from the ends of what floats can hold


class Par(NamedTuple):
    """The five parameters of the paper, the costs as probabilities."""

    widen: float  # min(ρ, 1): the probability that a value-initiated refresh counts
    narrow: float  # min(1/ρ, 1): the same of a query-initiated one
    factor: float  # 1 + α
    tau_0: float
    tau_inf: float
    below: float  # the part of the width that lies below the value
    width: float  # to start with


def make(
    costs: Costs,
    alpha: float = 1.0,
    tau_0: float = 0.0,
    tau_inf: float = math.inf,
    width: float = 1.0,
    stale: bool = False,
) -> Par:
    """Check the parameters. stale: the value counts updates, so it only rises, and ρ is halved."""
    rho = costs.rho / 2 if stale else costs.rho
    return Par(
        min(rho, 1.0),
        min(1 / rho, 1.0),
        1 + number("alpha", alpha, 0),
        check_width("tau_0", tau_0),
        check_width("tau_inf", tau_inf),
        0.0 if stale else 0.5,
        number("width", width, 0, above=True),
    )


def start(par: Par) -> tuple[float, ...]:
    """Return a memory that holds the width alone."""
    return (par.width,)


@hook
def counts(par, why, draw):
    """Tell whether a refresh changes the width."""
    if why == SPOKE:
        return False
    return draw < (par.narrow if why == ASKED else par.widen)


@hook
def within_thresholds(par, width):
    """Return the width to send instead of the original one."""
    if width < par.tau_0:
        return 0.0
    return math.inf if width >= par.tau_inf else width


@hook
def widened(par, width):
    """Return the next larger width; never infinity, from which there is no way back."""
    return min(width * par.factor, LARGEST)


@hook
def narrowed(par, width):
    """Return the next smaller width; never 0, from which there is no way back."""
    return max(width / par.factor, SMALLEST)


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Widen or narrow by the factor."""
    if counts(par, why, draw):
        if why == ASKED:
            memory[WIDTH] = narrowed(par, memory[WIDTH])
        else:
            memory[WIDTH] = widened(par, memory[WIDTH])


@hook
def shape(par, memory, value):
    """Centre the width on the value."""
    width = within_thresholds(par, memory[WIDTH])
    low = value - width * par.below if par.below > 0 else value
    return low, value + width * (1 - par.below), 0.0, 0.0, 0.0


ADAPTIVE = Rule(
    "adaptive",
    "widen when the value leaves, narrow when a query asks; the paper's",
    make,
    start,
    on_refresh,
    shape,
)
