"""The contract of a width rule, and the costs that it weighs. Documented here once.

A rule decides which interval a source sends to a cache. For each cache a source keeps the rule's
memory: a row of numbers, `memory`, whose first one is the *original width*: the width that the rule
has chosen, before thresholds make it 0 or infinite. Hooks get the parameters (`par`, a NamedTuple),
the memory, and the time:

- `start(par)`: return the initial memory.
- `on_update(par, memory, value, now)`: the source has a new value. Called before the value is
  compared with its interval; it causes no message, since a source sees all of its values.
- `on_read(par, memory, need, now)`: a query read the value, and could use an interval as wide as
  `need`. A source does not see the reads that a cache answers by itself: only the simulator calls
  this hook, and only rules with `counts_reads` have it.
- `on_refresh(par, memory, why, value, now, need, draw)`: a refresh is about to be sent; this hook
  changes the width. `why` is ABOVE or BELOW (the value left the interval on this side), ASKED (a
  query wants the exact value, and could have used an interval as wide as `need`) or SPOKE (the
  source was silent for `max_silence`). `draw` is random, in [0, 1): rules hold no generator.
- `shape(par, memory, value)`: return low, high, drift, spread and power of the interval to send;
  `interval_source.py` defines them. The value must lie inside.
- `rank(par, memory)`: a full cache evicts the interval with the highest rank.

All hooks but `start` are decorated with `hook`: the same text runs as plain Python in a `Source`
and is inlined into compiled kernels. So they are plain arithmetic; `memory` is a list or an array.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numba.extending import register_jitable

from ..numeric import check_number

ABOVE, BELOW, ASKED, SPOKE = 0, 1, 2, 3
WHY = ("above", "below", "asked", "spoke")
WIDTH = 0  # the place of the original width in every memory

hook = register_jitable(forceinline=True, _nrt=False)


class Costs(NamedTuple):
    """The cost of a message from the source, and of a request with its answer."""

    value: float = 1.0  # C_vr: the value left its interval, and the source sends another one
    query: float = 2.0  # C_qr: a query needs the exact value: one message there, one back

    @property
    def rho(self) -> float:
        """The cost factor, 2 C_vr / C_qr: at the best width ρ P_vr = P_qr.

        >>> Costs(4, 2).rho
        4.0
        """
        return 2 * self.value / self.query


def make_costs(value: float = 1.0, query: float = 2.0) -> Costs:
    """Return the costs, both of them above 0.

    >>> make_costs(value=0)
    Traceback (most recent call last):
    penstock.errors.BadInput: the cost of a value-initiated refresh must be a number above 0, got 0
    """
    return Costs(
        check_number("the cost of a value-initiated refresh", value, 0, above=True),
        check_number("the cost of a query-initiated refresh", query, 0, above=True),
    )


def start_with_width(par: Any) -> tuple[float, ...]:
    """Return a memory that holds only the width."""
    return (par.width,)


@hook
def ignore(par, memory, number, now):
    """Do nothing: the default of `on_update` and `on_read`."""


@hook
def keep_width(par, memory, why, value, now, need, draw):
    """Do nothing: the default of `on_refresh`."""


@hook
def centred(par, memory, value):
    """Centre the width on the value: the default of `shape`."""
    half = memory[WIDTH] / 2
    return value - half, value + half, 0.0, 0.0, 0.0


@hook
def by_width(par, memory):
    """Return the original width: the default of `rank`."""
    return memory[WIDTH]


@dataclass(frozen=True)
class Rule:
    """One way to choose intervals."""

    name: str
    summary: str
    make: Callable[..., Any]  # (costs, parameters...) -> par, a NamedTuple
    start: Callable[[Any], tuple[float, ...]] = start_with_width
    on_refresh: Callable = keep_width
    shape: Callable = centred
    on_update: Callable = ignore
    on_read: Callable = ignore
    rank: Callable = by_width
    counts_reads: bool = False  # needs the reads that a cache answers by itself
    moves: bool = False  # its intervals move with time
    reports_evictions: bool = False  # a cache tells the source when it evicts the value


class Tuned(NamedTuple):
    """A rule, its parameters and the costs: all that a source needs."""

    rule: Rule
    par: Any
    text: str  # as the user wrote it

    def start(self) -> tuple[float, ...]:
        """Return the initial memory."""
        return self.rule.start(self.par)
