"""The contract of a width rule: what it is, and what its hooks may rely on. Documented here once.

A rule decides which interval a source sends to a cache. For each cache a source keeps the rule's
memory: a row of numbers, `memory`, whose first one is the *original width*: what the rule would
like, before thresholds make it 0 or infinite. Hooks get the parameters (`par`, a NamedTuple), the
memory, and the time:

- `start(par)`: return the numbers that the memory begins with.
- `on_update(par, memory, value, now)`: the source has a new value. Called before it is looked
  whether the value left its interval; free of charge, for a source sees all of its values.
- `on_read(par, memory, need, now)`: a query read the value, and could live with an interval as wide
  as `need`. A source does not see the reads that a cache answers by itself: only the simulator
  calls this hook, and only rules with `counts_reads` have it.
- `on_refresh(par, memory, why, value, now, need, draw)`: a refresh is about to be sent, the place
  to change the width. `why` is ABOVE or BELOW (the value left the interval on this side), ASKED (a
  query wants the exact value, and could have lived with an interval as wide as `need`) or SPOKE
  (the source was silent for long). `draw` is random, in [0, 1): rules hold no generator.
- `shape(par, memory, value)`: return low, high, drift, spread and power of the interval to send;
  `interval.py` says what they mean. The value must lie inside.
- `rank(par, memory)`: the cache that is full lets the highest rank go.

All hooks but `start` are decorated with `hook`: the same text runs as plain Python in a `Source`
and is pasted into the simulator's kernel. So they are plain arithmetic; `memory` is a list or an
array.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numba.extending import register_jitable

ABOVE, BELOW, ASKED, SPOKE = 0, 1, 2, 3
WHY = ("above", "below", "asked", "spoke")
WIDTH = 0  # the place of the original width in every memory

hook = register_jitable(forceinline=True, _nrt=False)


@hook
def ignore(par, memory, number, now):
    """Do nothing: the hook of a rule that does not care."""


@hook
def by_width(par, memory):
    """Rank by the original width: the widest goes."""
    return memory[WIDTH]


@dataclass(frozen=True)
class Rule:
    """One way to choose intervals."""

    name: str
    summary: str
    make: Callable[..., Any]  # (costs, parameters...) -> par, a NamedTuple
    start: Callable[[Any], tuple[float, ...]]
    on_refresh: Callable
    shape: Callable
    on_update: Callable = ignore
    on_read: Callable = ignore
    rank: Callable = by_width
    counts_reads: bool = False  # needs to know of reads that a cache answers by itself
    moves: bool = False  # its intervals move with time
    told: bool = False  # a cache tells the source when it lets the value go
    parameters: dict[str, inspect.Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        signature = inspect.signature(self.make, eval_str=True)
        parameters = dict(list(signature.parameters.items())[1:])  # the first one is the costs
        object.__setattr__(self, "parameters", parameters)

    @property
    def hooks(self) -> tuple[Callable, ...]:
        """The functions that a kernel is specialised by."""
        return self.on_update, self.on_read, self.on_refresh, self.shape, self.rank


class Tuned(NamedTuple):
    """A rule, its parameters and the costs: all that a source needs."""

    rule: Rule
    par: Any
    text: str  # as it was asked for

    def start(self) -> tuple[float, ...]:
        """Return the numbers that a memory begins with."""
        return self.rule.start(self.par)
