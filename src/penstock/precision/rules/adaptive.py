"""The adaptive rule of the paper, its variants, and a fixed width.

A value that leaves its interval shows that the interval was too narrow: the width is multiplied by
1 + α. A query that needs the exact value shows that it was too wide: the width is divided by 1 + α.
At the width of the least cost ρ P_vr = P_qr, so where ρ is not 1 the more frequent of the two
events changes the width only with probability ρ or 1/ρ.

- `adaptive` sends widths below τ_0 as 0 (an exact copy) and those of τ_∞ and above as infinite (no
  copy); the width itself is remembered unchanged.
- `uncentred` adapts an upper and a lower width, each by itself: a value that leaves above widens
  only the part above it, a query narrows both. The paper found it worse on unbiased walks and
  slightly better on biased ones.
- `growing` sends a width of W × elapsed ** power, from 0 at the refresh on; with `drift` the width
  is W, and both bounds move at the average rate of the value. The paper found that growing widths
  cost more, and that drift costs less on biased walks.
- `majority` follows the majority of the last r refreshes; with r = 1 it is the adaptive rule. The
  paper found no r that did better.
- `static` never changes its width: the dead-band that the field deploys, set by hand.

Source: Olston, Loo, Widom, "Adaptive Precision Setting for Cached Approximate Values" (2001),
section 2; section 4.5 for the variants; section 4.7 for stale values, whose interval bounds the
number of unseen updates. Departures, where the paper is silent: neither width of `uncentred` falls
below a thousandth of the other, because a side that the value never leaves is only narrowed, and
would take many refreshes to grow once the trend turned; the rate of `growing` is an exponential
average of the change per unit of time; under `majority` a change has the probability that the
adaptive rule gives to a change in its direction.
"""

import math
from typing import NamedTuple

from ..rounding import check_count, check_number, check_width
from ..rule import ABOVE, ASKED, BELOW, SPOKE, WIDTH, Costs, Rule, hook

SMALLEST, LARGEST = 1e-300, 1e300  # widths, far from the smallest and the largest float
LOWER, UPPER = 1, 2  # places in the memory of `uncentred`; the first one holds their sum
LEAST = 0.001
LAST, WHEN, RATE, SEEN = 1, 2, 3, 4  # places in the memory of `growing`
AVERAGED = 50.0  # updates over which the rate is averaged
NEXT, VALUES, VOTES, FIRST = 1, 2, 3, 4  # of `majority`; from FIRST on a ring of r refreshes


class Par(NamedTuple):
    """The parameters of all these rules; each rule reads those that it has."""

    widen: float  # min(ρ, 1): the probability that a value-initiated refresh changes the width
    narrow: float  # min(1/ρ, 1): the same of a query-initiated one
    factor: float  # 1 + α
    width: float  # the initial one
    tau_0: float = 0.0
    tau_inf: float = math.inf
    below: float = 0.5  # the part of the width that lies below the value
    power: float = 0.0
    drift: bool = False
    r: int = 1


def _check(costs: Costs, alpha: float, width: float) -> Par:
    """Return the parameters that all rules but `static` share."""
    factor = 1 + check_number("alpha", alpha, 0)
    start = check_number("width", width, 0, above=True)
    return Par(min(costs.rho, 1.0), min(1 / costs.rho, 1.0), factor, start)


@hook
def change(par, memory, place, wider, draw):
    """Widen or narrow the width at a place, with the probability of a change in that direction.

    Never to infinity or 0, since a factor does not change these.
    """
    if draw < (par.widen if wider else par.narrow):
        if wider:
            memory[place] = min(memory[place] * par.factor, LARGEST)
        else:
            memory[place] = max(memory[place] / par.factor, SMALLEST)


# ------------------------------------------------------------ adaptive and static


def make_adaptive(
    costs: Costs,
    alpha: float = 1.0,
    tau_0: float = 0.0,
    tau_inf: float = math.inf,
    width: float = 1.0,
    stale: bool = False,
) -> Par:
    """Check the parameters. stale: the value counts updates, so it only rises, and ρ is halved."""
    if stale:
        costs = costs._replace(value=costs.value / 2)
    return _check(costs, alpha, width)._replace(
        tau_0=check_width("tau_0", tau_0),
        tau_inf=check_width("tau_inf", tau_inf),
        below=0.0 if stale else 0.5,
    )


def make_static(costs: Costs, width: float = 1.0) -> Par:
    """Check the width; 0 sends every change, inf sends nothing."""
    return Par(0.0, 0.0, 1.0, check_width("width", width))


@hook
def adapt(par, memory, why, value, now, need, draw):
    """Widen when the value has left, narrow when a query asks."""
    if why != SPOKE:
        change(par, memory, WIDTH, why != ASKED, draw)


@hook
def within_thresholds(par, memory, value):
    """Put the width around the value, or 0 or infinity beyond the thresholds."""
    width = memory[WIDTH]
    if width < par.tau_0:
        width = 0.0
    elif width >= par.tau_inf:
        width = math.inf
    low = value - width * par.below if par.below > 0 else value
    return low, value + width * (1 - par.below), 0.0, 0.0, 0.0


ADAPTIVE = Rule(
    "adaptive",
    "widen when the value leaves, narrow when a query asks; the paper's",
    make_adaptive,
    on_refresh=adapt,
    shape=within_thresholds,
)
STATIC = Rule("static", "one width for good: the dead-band of the field", make_static)


# ------------------------------------------------------------ uncentred


def make_uncentred(costs: Costs, alpha: float = 1.0, width: float = 1.0) -> Par:
    """Check the parameters; `width` is that of both sides together."""
    return _check(costs, alpha, width)


def start_uncentred(par: Par) -> tuple[float, ...]:
    """Return a memory of two equal sides."""
    return par.width, par.width / 2, par.width / 2


@hook
def adapt_sides(par, memory, why, value, now, need, draw):
    """Widen the side that the value left; narrow both when a query asks."""
    if why in (ASKED, BELOW):
        change(par, memory, LOWER, why == BELOW, draw)
    if why in (ASKED, ABOVE):
        change(par, memory, UPPER, why == ABOVE, draw)
    memory[LOWER] = max(memory[LOWER], LEAST * memory[UPPER])
    memory[UPPER] = max(memory[UPPER], LEAST * memory[LOWER])
    memory[WIDTH] = memory[LOWER] + memory[UPPER]


@hook
def by_sides(par, memory, value):
    """Put each width on its side of the value."""
    return value - memory[LOWER], value + memory[UPPER], 0.0, 0.0, 0.0


UNCENTRED = Rule(
    "uncentred",
    "an upper and a lower width, each adapted by itself",
    make_uncentred,
    start_uncentred,
    adapt_sides,
    by_sides,
)


# ------------------------------------------------------------ growing


def make_growing(
    costs: Costs, alpha: float = 1.0, width: float = 1.0, power: float = 0.5, drift: bool = False
) -> Par:
    """Check the parameters; with `drift` the power has no effect."""
    power = check_number("power", power, 0, above=True)
    return _check(costs, alpha, width)._replace(power=power, drift=bool(drift))


def start_growing(par: Par) -> tuple[float, ...]:
    """Return a memory of no updates."""
    return par.width, 0.0, 0.0, 0.0, 0.0


@hook
def average_rate(par, memory, value, now):
    """Average the rate of change."""
    if memory[SEEN] > 0 and now > memory[WHEN]:
        rate = (value - memory[LAST]) / (now - memory[WHEN])
        rate = min(max(rate, -LARGEST), LARGEST)
        memory[RATE] += (rate - memory[RATE]) / min(memory[SEEN], AVERAGED)
    memory[LAST] = value
    memory[WHEN] = now
    memory[SEEN] += 1.0


@hook
def moving(par, memory, value):
    """Start as a point that widens, or as an interval that drifts."""
    half = memory[WIDTH] / 2
    if par.drift:
        return value - half, value + half, memory[RATE], 0.0, 0.0
    return value, value, 0.0, half, par.power


GROWING = Rule(
    "growing",
    "the width grows with time, or the interval drifts with the value",
    make_growing,
    start_growing,
    adapt,
    moving,
    on_update=average_rate,
    moves=True,
)


# ------------------------------------------------------------ majority


def make_majority(costs: Costs, alpha: float = 1.0, width: float = 1.0, r: int = 3) -> Par:
    """Check the parameters."""
    return _check(costs, alpha, width)._replace(r=check_count("r", r, 1))


def start_majority(par: Par) -> tuple[float, ...]:
    """Return a memory without votes."""
    return (par.width, 0.0, 0.0, 0.0) + (0.0,) * par.r


@hook
def vote(par, memory, why, value, now, need, draw):
    """Record the vote of a refresh, and follow the majority; a tie narrows."""
    if why == SPOKE:
        return
    wider = 0.0 if why == ASKED else 1.0
    place = FIRST + int(memory[NEXT])
    memory[VALUES] += wider - memory[place]
    memory[place] = wider
    memory[NEXT] = (memory[NEXT] + 1) % par.r
    memory[VOTES] = min(memory[VOTES] + 1, par.r)
    change(par, memory, WIDTH, 2 * memory[VALUES] > memory[VOTES], draw)


MAJORITY = Rule(
    "majority", "the last r refreshes vote on the width", make_majority, start_majority, vote
)
