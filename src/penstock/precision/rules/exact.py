"""Exact caching: a value is cached exactly, or not at all.

Reads and writes are counted. After x of them together both choices are priced: without a copy every
read costs C_qr, with one every write costs C_vr. The cheaper one holds until the next x. A copy
begins with the next read, which fetches the value anyway; it ends with the next write, which tells
the cache so instead of sending the value.

Source: Wolfson, Jajodia, Huang, "An adaptive data replication algorithm" (1997), as retold in the
precision paper, section 4.6. A full cache lets go of the copy that saves least, and says so.
"""

import math
from typing import NamedTuple

from ..checks import count
from ..costs import Costs
from ..rule import WIDTH, Rule, hook

READS, WRITES, SAVED = 1, 2, 3  # places in the memory


class Par(NamedTuple):
    """The prices, and how often they are looked at."""

    read: float
    write: float
    x: int


def make(costs: Costs, x: int = 15) -> Par:
    """Check the parameters; the paper tries x from 3 to 45."""
    return Par(costs.query, costs.value, count("x", x, 1))


def start(par: Par) -> tuple[float, ...]:
    """Return a memory without counts, of a value that is cached."""
    return (0.0, 0.0, 0.0, 0.0)


@hook
def _weigh(par, memory):
    """Choose anew after x reads and writes."""
    if memory[READS] + memory[WRITES] >= par.x:
        memory[SAVED] = memory[READS] * par.read - memory[WRITES] * par.write
        memory[WIDTH] = 0.0 if memory[SAVED] > 0 else math.inf
        memory[READS] = 0.0
        memory[WRITES] = 0.0


@hook
def on_update(par, memory, value, now):
    """Count a write."""
    memory[WRITES] += 1.0
    _weigh(par, memory)


@hook
def on_read(par, memory, need, now):
    """Count a read."""
    memory[READS] += 1.0
    _weigh(par, memory)


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Do nothing: the counts decide."""


@hook
def shape(par, memory, value):
    """Send a copy, or the word that there is none."""
    return value - memory[WIDTH], value + memory[WIDTH], 0.0, 0.0, 0.0


@hook
def rank(par, memory):
    """Rank by what the copy does not save."""
    return -memory[SAVED]


EXACT = Rule(
    "exact",
    "an exact copy or none, by counts of reads and writes [WJH97]",
    make,
    start,
    on_refresh,
    shape,
    on_update=on_update,
    on_read=on_read,
    rank=rank,
    counts_reads=True,
    told=True,
)
