"""The rules of papers: adaptive with its variants, a fixed width, and two that count reads.

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

*Rules that count reads and writes*, the rivals in the paper; only simulations can run them.

`exact` caches a value exactly or not at all. After x reads and writes together it prices both
choices: without a copy every read costs C_qr, with a copy every write costs C_vr. The cheaper one
holds until the next x. A copy begins with the next read, which fetches the value anyway; it ends
with the next write, which informs the cache instead of sending the value. A full cache evicts the
copy that saves least, and tells the source.

`divergence` bounds how many updates a copy may lag behind. The value counts the updates of the
source, and an interval [v, v + K] says that at most K of them are unseen. The rule knows the times
and needs of the last k reads and the times of the last k updates. At every refresh it chooses, from
all needs seen and from no copy at all, the K that would have cost least per unit of time,

    C_vr × updates per unit of time / (K + 1) + C_qr × reads per unit of time that need less than K.

Sources: Wolfson, Jajodia, Huang, "An adaptive data replication algorithm" (1997), as retold in the
precision paper, section 4.6; Huang, Sloan, Wolfson, "Divergence caching in client-server
architectures" (1994), as retold in section 4.7, which uses k = 23. Ours, since the paper does not
say: prices are compared at every refresh, the reads known to the cache come with the refresh at no
cost, and a need between two whole numbers is rounded down.
"""

import math
from typing import NamedTuple

from ...numeric import check_count, check_number
from ..rounding import check_width
from ..rule import ABOVE, ASKED, BELOW, SPOKE, WIDTH, Costs, Rule, hook

SMALLEST, LARGEST = 1e-300, 1e300  # widths, far from the smallest and the largest float
LOWER, UPPER = 1, 2  # places in the memory of `uncentred`; the first one holds their sum
LEAST = 0.001
LAST, WHEN, RATE, SEEN = 1, 2, 3, 4  # places in the memory of `growing`
AVERAGED = 50.0  # updates over which the rate is averaged
NEXT, VALUES, VOTES, FIRST = 1, 2, 3, 4  # of `majority`; from FIRST on a ring of r refreshes
READS, WRITES = 1, 2  # places in both memories: how many were seen
SAVED = 3  # of `exact`: what the copy saves
NEEDS = 3  # of `divergence`: rings of k needs, times of reads and times of writes


class WidthPar(NamedTuple):
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


def make_par(costs: Costs, alpha: float = 1.0, width: float = 1.0) -> WidthPar:
    """Check the parameters that all rules but `static` share; those of `uncentred` are no more."""
    factor = 1 + check_number("alpha", alpha, 0)
    start = check_number("width", width, 0, above=True)
    return WidthPar(min(costs.rho, 1.0), min(1 / costs.rho, 1.0), factor, start)


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
) -> WidthPar:
    """Check the parameters. stale: the value counts updates, so it only rises, and ρ is halved."""
    if stale:
        costs = costs._replace(value=costs.value / 2)
    return make_par(costs, alpha, width)._replace(
        tau_0=check_width("tau_0", tau_0),
        tau_inf=check_width("tau_inf", tau_inf),
        below=0.0 if stale else 0.5,
    )


def make_static(costs: Costs, width: float = 1.0) -> WidthPar:
    """Check the width; 0 sends every change, inf sends nothing."""
    return WidthPar(0.0, 0.0, 1.0, check_width("width", width))


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
    make_par,
    lambda par: (par.width, par.width / 2, par.width / 2),
    adapt_sides,
    by_sides,
)


# ------------------------------------------------------------ growing


def make_growing(
    costs: Costs, alpha: float = 1.0, width: float = 1.0, power: float = 0.5, drift: bool = False
) -> WidthPar:
    """Check the parameters; with `drift` the power has no effect."""
    power = check_number("power", power, 0, above=True)
    return make_par(costs, alpha, width)._replace(power=power, drift=bool(drift))


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
    lambda par: (par.width, 0.0, 0.0, 0.0, 0.0),
    adapt,
    moving,
    on_update=average_rate,
    moves=True,
)


# ------------------------------------------------------------ majority


def make_majority(costs: Costs, alpha: float = 1.0, width: float = 1.0, r: int = 3) -> WidthPar:
    """Check the parameters."""
    return make_par(costs, alpha, width)._replace(r=check_count("r", r, 1))


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
    "majority",
    "the last r refreshes vote on the width",
    make_majority,
    lambda par: (par.width, 0.0, 0.0, 0.0, *(0.0,) * par.r),
    vote,
)


# ------------------------------------------------------------ exact and divergence


class CountPar(NamedTuple):
    """The prices, and the number of events that are counted."""

    read: float
    write: float
    size: int  # x or k


def make_exact(costs: Costs, x: int = 15) -> CountPar:
    """Check the parameters; the paper tries x from 3 to 45."""
    return CountPar(costs.query, costs.value, check_count("x", x, 1))


@hook
def _weigh(par, memory):
    """Choose anew after x reads and writes."""
    if memory[READS] + memory[WRITES] >= par.size:
        memory[SAVED] = memory[READS] * par.read - memory[WRITES] * par.write
        memory[WIDTH] = 0.0 if memory[SAVED] > 0 else math.inf
        memory[READS] = 0.0
        memory[WRITES] = 0.0


@hook
def count_write(par, memory, value, now):
    """Count a write."""
    memory[WRITES] += 1.0
    _weigh(par, memory)


@hook
def count_read(par, memory, need, now):
    """Count a read."""
    memory[READS] += 1.0
    _weigh(par, memory)


@hook
def by_loss(par, memory):
    """Rank by the amount that the copy does not save."""
    return -memory[SAVED]


EXACT = Rule(
    "exact",
    "an exact copy or none, by counts of reads and writes [WJH97]",
    make_exact,
    lambda par: (0.0, 0.0, 0.0, 0.0),  # no counts, of a value that is cached
    on_update=count_write,
    on_read=count_read,
    rank=by_loss,
    counts_reads=True,
    reports_evictions=True,
)


def make_divergence(costs: Costs, k: int = 23) -> CountPar:
    """Check the parameters."""
    return CountPar(costs.query, costs.value, check_count("k", k, 1))


@hook
def note_write(par, memory, value, now):
    """Note the time of an update."""
    memory[NEEDS + 2 * par.size + int(memory[WRITES]) % par.size] = now
    memory[WRITES] += 1.0


@hook
def note_read(par, memory, need, now):
    """Note the time and the need of a read."""
    place = NEEDS + int(memory[READS]) % par.size
    memory[place] = math.floor(need)
    memory[place + par.size] = now
    memory[READS] += 1.0


@hook
def _rate(memory, first, size, seen, now):
    """Return events per unit of time, from the ring of times that begins at `first`."""
    number = min(int(seen), size)
    if number == 0:
        return 0.0
    oldest = memory[first + (int(seen) % size if int(seen) >= size else 0)]
    return number / max(now - oldest, 1.0)


@hook
def _price(par, memory, lag, known, reads, writes):
    """Return the cost per unit of time of a copy that may lag by `lag` updates."""
    remote = 0
    for i in range(known):
        if memory[NEEDS + i] < lag:
            remote += 1
    return par.write * writes / (lag + 1) + par.read * reads * remote / known


@hook
def choose_lag(par, memory, why, value, now, need, draw):
    """Set the lag to the cheapest one; of equal prices to the largest lag."""
    known = min(int(memory[READS]), par.size)
    reads = _rate(memory, NEEDS + par.size, par.size, memory[READS], now)
    writes = _rate(memory, NEEDS + 2 * par.size, par.size, memory[WRITES], now)
    best, least = math.inf, par.read * reads
    for i in range(known):
        lag = memory[NEEDS + i]
        price = _price(par, memory, lag, known, reads, writes)
        if price < least or (price == least and lag > best):
            best, least = lag, price
    memory[WIDTH] = best


@hook
def lagging(par, memory, value):
    """Let the copy lag behind the value."""
    return value, value + memory[WIDTH], 0.0, 0.0, 0.0


DIVERGENCE = Rule(
    "divergence",
    "how many updates a copy may lag, from windows of reads and updates [HSW94]",
    make_divergence,
    lambda par: (0.0,) * (3 + 3 * par.size),  # no reads, no updates, no lag
    choose_lag,
    lagging,
    on_update=note_write,
    on_read=note_read,
    counts_reads=True,
)
