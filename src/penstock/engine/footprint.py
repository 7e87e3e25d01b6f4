"""What an engine takes in memory, worked out from the arrays that it makes.

A budget in bytes counts everything: payloads, slots, index, what policies remember, statistics, and
with `auto` the shadow caches and the last rows. What grows with the rows held is charged to each of
them, beside its payload. The rest is taken off the budget before any row is held: it depends on the
scale, which is how many rows the budget will hold if payloads are of `PAYLOAD` bytes.

Hash tables double, so what a row takes is counted where they have just done so: bytes are never
more than is counted, and often less.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import TooSmall
from ..kernel.policy import CACHING, JOINING, UNKNOWN_SCALE, Configured, Setup
from . import lookup_kernel
from .adapt.chooser import WARM
from .adapt.shadows import ROOM, room_for
from .join_kernel import Form
from .join_upkeep import make_tables
from .saved import nbytes

PAYLOAD = 100  # bytes of a row's payload, assumed where statistics are given their share
SIZE = 100  # of a row, assumed where sizes of some unit do not tell how many rows there will be
STEEP = (4097, 5462, 6830)  # rows from which on a table may double
FLAT = (1, 64, 512, 4096)  # rows at which what there is in any case is looked for
SPARE = 33 / 32  # slots for each row held: tables are a little larger than they need be
ROOMS = (ROOM, ROOM // 2, ROOM // 4)  # tuples in a shadow cache
PART = 4  # of a budget that may go into shadow caches and what they need, as a divisor
ALL = 1 << 40  # arrivals for which every table has grown as far as it may


class Line(NamedTuple):
    """Bytes: at most fixed + slot x slots + scale x rows that statistics are made for."""

    fixed: float
    slot: float
    scale: float

    def at(self, rows: float) -> float:
        """Return the bytes of a memory of so many rows, with statistics for as many."""
        return self.fixed + (self.slot + self.scale) * rows


class Footprint(NamedTuple):
    """How a budget in bytes is divided."""

    rows: int  # the scale
    room: int  # tuples in a shadow cache; 0: there is no room for any
    charge: int  # bytes for each row held, beside its payload
    fixed: int  # bytes that are taken off the budget


def line_of(measure: Callable[[int, int], int]) -> Line:
    """Return the line that `measure(slots, scale)`, in bytes, lies below."""
    base = STEEP[0]
    slot = max((measure(2 * x, base) - measure(x, base)) / x for x in STEEP)
    scale = max((measure(base, 2 * x) - measure(base, x)) / x for x in STEEP)
    fixed = max(measure(x, x) - (slot + scale) * x for x in FLAT)
    return Line(max(0.0, fixed), max(0.0, slot), max(0.0, scale))


def highest(lines: list[Line]) -> Line:
    """Return a line above all of them, for memories that hold about as many rows as their scale."""
    fixed, slot, _ = (max(column) for column in zip(*lines, strict=True))
    return Line(fixed, slot, max(line.slot + line.scale for line in lines) - slot)


def grown_state(chosen: Configured, setup: Setup) -> Any:
    """Return the state of a policy whose own tables have grown as far as they may."""
    state, reserve = chosen.make_state(setup), chosen.policy.reserve
    return state if reserve is None else reserve(state, ALL)


def divided(
    budget: int, line: Line, beside: Callable[[int], float], scale: int | None, room: int
) -> Footprint:
    """Return how to divide a budget; `beside(rows)` is what else there is for a scale."""
    charge = int(np.ceil(line.slot * SPARE))

    def fixed(rows: int) -> int:
        return int(np.ceil(line.fixed + line.scale * rows + beside(rows)))

    def whole(rows: int) -> int:
        return fixed(rows) + rows * (charge + PAYLOAD)

    rows = scale
    if rows is None:
        rows = max(1, bisect_right(range(1, budget + 1), budget, key=whole))
    return Footprint(rows, min(room, rows), charge, fixed(rows))


def footprint(
    budget: int,
    chosen: Configured,
    families: list[list[Configured]],
    form: Form | None = None,
    models: tuple[Any, ...] | None = None,
    scale: int | None = None,
) -> Footprint:
    """Return how the budget in bytes of a join of some form is divided, or of a cache without one.

    `families` are what `auto` chooses from, else none. The last rows are remembered. Shadow caches
    are made smaller where they would take more than a part of the budget; `auto` does without where
    that is not enough.
    """
    row, what = 24, "a cache"  # key, size, cost
    if form is not None:  # stream, keys, time, deadline, size
        row, what = 1 + 8 * form.attributes + 8 + 8 + 8, "a join"
    line_for = partial(engine_line, form=form, models=models)
    tried = [one for family in families for one in family if not one.policy.ordered]
    small = [line_for(one) for one in tried] or [line_for(chosen.starting)] * len(chosen.candidates)
    found = None
    for room in ROOMS if families or chosen.is_tuned else ():
        line = highest(small)
        beside = _beside(small, row, room)
        found = divided(budget, line, beside, scale, room)
        if beside(found.rows) <= budget / PART:
            break
    else:
        if families or not chosen.is_tuned:
            alone = tried[0] if families else chosen
            found = divided(budget, line_for(alone), lambda rows: 0.0, scale, 0)
    assert found is not None
    least = found.fixed + found.charge + PAYLOAD
    if budget < least:
        refused = TooSmall(
            f"{what} under {chosen} takes {least:,} bytes with a single row, and may take "
            f"{budget:,}; raise the budget, or choose a policy that remembers less"
        )
        refused.least = least
        raise refused
    return found


def _beside(lines: list[Line], row: int, room: int) -> Callable[[int], float]:
    """Return what is taken, for a scale, by shadow caches and by the rows that are remembered.

    All are tried at a time; and the last rows are remembered, with a little more than are wanted.
    """

    def beside(rows: int) -> float:
        remembered = 1.25 * (room_for(rows) + WARM)
        return sum(line.at(min(room, rows)) for line in lines) + row * remembered

    return beside


def plain_footprint(budget: int | None, sized: bool, scale: int | None) -> Footprint:
    """Return how a budget is divided that counts rows, or sizes of rows: all of it is for rows."""
    rows = UNKNOWN_SCALE if budget is None else max(1, budget // SIZE) if sized else budget
    if scale is not None and (sized or budget is None):
        rows = scale
    return Footprint(rows, min(rows, ROOM), 0, 0)


def engine_line(
    chosen: Configured, form: Form | None = None, models: tuple[Any, ...] | None = None
) -> Line:
    """Return what a join of some form takes under a policy, or a cache, which has none.

    It is worked out once, if no models are given.
    """

    def measure(slots: int, scale: int) -> int:
        if form is None:
            setup = Setup(slots, scale, problem=CACHING, models=models)
            tables = lookup_kernel.make_tables(slots, sized=True, weighed=True)
            return nbytes(tables, grown_state(chosen, setup))
        rows = max(1, scale // form.lanes)
        setup = Setup(slots, rows, 0, form.shape, form.together, JOINING, models)
        states = [grown_state(chosen, setup) for _ in range(form.lanes)]
        return nbytes(make_tables(form, slots, [1] * form.lanes), states)

    if models is not None:
        return line_of(measure)
    known = str(chosen), form
    if known not in _known:
        _known[known] = line_of(measure)
    return _known[known]


_known: dict[tuple[str, Form | None], Line] = {}
