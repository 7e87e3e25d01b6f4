"""The rivals of the paper, which count reads and writes; only simulations can run them.

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

from ..rounding import check_count
from ..rule import WIDTH, Costs, Rule, hook

READS, WRITES = 1, 2  # places in both memories: how many were seen
SAVED = 3  # of `exact`: what the copy saves
NEEDS = 3  # of `divergence`: rings of k needs, times of reads and times of writes


class Par(NamedTuple):
    """The prices, and the number of events that are counted."""

    read: float
    write: float
    size: int  # x or k


def make_exact(costs: Costs, x: int = 15) -> Par:
    """Check the parameters; the paper tries x from 3 to 45."""
    return Par(costs.query, costs.value, check_count("x", x, 1))


def start_exact(par: Par) -> tuple[float, ...]:
    """Return a memory without counts, of a value that is cached."""
    return 0.0, 0.0, 0.0, 0.0


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
    start_exact,
    on_update=count_write,
    on_read=count_read,
    rank=by_loss,
    counts_reads=True,
    told=True,
)


def make_divergence(costs: Costs, k: int = 23) -> Par:
    """Check the parameters."""
    return Par(costs.query, costs.value, check_count("k", k, 1))


def start_divergence(par: Par) -> tuple[float, ...]:
    """Return a memory of no reads and no updates, of a copy that may not lag."""
    return (0.0, 0.0, 0.0) + (0.0,) * (3 * par.size)


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
    start_divergence,
    choose_lag,
    lagging,
    on_update=note_write,
    on_read=note_read,
    counts_reads=True,
)
