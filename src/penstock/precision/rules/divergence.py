"""Divergence caching: how many updates a copy may lag behind, priced anew at every refresh.

The value counts the updates of the source, and an interval [v, v + K] says that at most K of them
are unseen. Of the last k reads their times and needs are known, of the last k updates their times.
At every refresh K is set from scratch: of all needs seen, and of no copy at all, the K that would
have cost least per unit of time,

    C_vr × updates per unit of time / (K + 1) + C_qr × reads per unit of time that need less than K.

Source: Huang, Sloan, Wolfson, "Divergence caching in client-server architectures" (1994), as retold
in the precision paper, section 4.7, which uses k = 23. What is not told there is ours: that prices
are looked at with every refresh, that what the cache knows of reads comes free with it, and that
a need between two whole numbers is rounded down.
"""

import math
from typing import NamedTuple

from ..checks import count
from ..costs import Costs
from ..rule import WIDTH, Rule, hook

# Places in the memory: how many were seen, and where the rings begin.
READS, WRITES, NEEDS = 1, 2, 3


class Par(NamedTuple):
    """The prices, and the size of the window."""

    read: float
    write: float
    k: int


def make(costs: Costs, k: int = 23) -> Par:
    """Check the parameters."""
    return Par(costs.query, costs.value, count("k", k, 1))


def start(par: Par) -> tuple[float, ...]:
    """Return a memory of no reads and no updates, of a copy that may lag by none."""
    return (0.0, 0.0, 0.0) + (0.0,) * (3 * par.k)


@hook
def on_update(par, memory, value, now):
    """Note the time of an update."""
    memory[NEEDS + 2 * par.k + int(memory[WRITES]) % par.k] = now
    memory[WRITES] += 1.0


@hook
def on_read(par, memory, need, now):
    """Note the time and the need of a read."""
    place = NEEDS + int(memory[READS]) % par.k
    memory[place] = math.floor(need)
    memory[place + par.k] = now
    memory[READS] += 1.0


@hook
def _rate(times, first, k, seen, now):
    """Return events per unit of time, from the ring of times that begins at `first`."""
    number = min(int(seen), k)
    if number == 0:
        return 0.0
    oldest = times[first + (int(seen) % k if int(seen) >= k else 0)]
    return number / max(now - oldest, 1.0)


@hook
def _price(par, memory, lag, reads, writes):
    """Return the cost per unit of time of a copy that may lag by `lag` updates."""
    known = min(int(memory[READS]), par.k)
    remote = 0
    for i in range(known):
        if memory[NEEDS + i] < lag:
            remote += 1
    return par.write * writes / (lag + 1) + par.read * reads * remote / known


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Set the lag to the cheapest one."""
    known = min(int(memory[READS]), par.k)
    if known == 0:
        memory[WIDTH] = math.inf  # nobody reads it
        return
    reads = _rate(memory, NEEDS + par.k, par.k, memory[READS], now)
    writes = _rate(memory, NEEDS + 2 * par.k, par.k, memory[WRITES], now)
    best, price = math.inf, par.read * reads
    for i in range(known):
        lag = memory[NEEDS + i]
        asked = _price(par, memory, lag, reads, writes)
        if asked < price or (asked == price and lag > best):  # of equals the one that lags more
            best, price = lag, asked
    memory[WIDTH] = best


@hook
def shape(par, memory, value):
    """Let the copy lag."""
    return value, value + memory[WIDTH], 0.0, 0.0, 0.0


DIVERGENCE = Rule(
    "divergence",
    "how many updates a copy may lag, from windows of reads and updates [HSW94]",
    make,
    start,
    on_refresh,
    shape,
    on_update=on_update,
    on_read=on_read,
    counts_reads=True,
)
