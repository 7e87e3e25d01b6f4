"""Which held tuples have matched, what that leaves them worth, and which are spent.

With the goal of rows the standing of a tuple (`kernel/gains.py`) changes when it matches for the
first time, when a newer one of its side and key is kept, and when that one leaves before it. Spent
tuples wait in a list for each stream, in the order in which they were spent, and are evicted before
the policy is asked: they are of no use for the goal, and are held only while there is room. So the
policy's hooks are not called for them either.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kernel import gains, slots
from ..kernel import order as orders
from ..kernel.gains import FRESH, SERVES, SPENT
from ..kernel.jit import jit
from ..kernel.policy import nothing
from ..kernel.slots import NONE

if TYPE_CHECKING:
    from .join_kernel import Form

# The columns of counts; FOUND: rows that have had a result.
MATCHED, EXPIRED, EVICTED, REFUSED, TAKEN, FOUND, COMPLETED = range(7)
COUNTS = 7


class Standings(NamedTuple):
    """What a kernel calls when something happens to a tuple; most does nothing for pairs."""

    match: Callable  # (tables, slot): a held tuple has a result; whether to call the hook
    seat: Callable  # (tables, stream, room): the newcomer is about to ask for room
    enter: Callable  # (tables, state, stream, slot, now): it is held, and in the index
    leave: Callable  # (tables, state, stream, slot, now): it is about to leave the index
    spent: Callable  # (tables, lane): a tuple to evict, or NONE
    replaced: Callable  # (tables, stream, room, entry): one that the newcomer makes spent, or NONE


def make_standings(form: "Form", on_gain: Callable = nothing) -> Standings:
    """Return the functions for a form; `on_gain` is the policy's hook."""
    rows, lanes, streams = form.rows, form.lanes, form.shape.streams
    legs, leg_table, plain = form.shape.legs, form.shape.leg_table, form.shape.is_plain

    @jit
    def is_spent(held, slot):
        if plain:
            return held.standing[slot, 0] == SPENT
        for leg in range(legs):
            if held.standing[slot, leg] != SPENT:
                return False
        return True

    @jit
    def newest(tables, stream, slot):
        """Say that a tuple is the newest on all of its legs."""
        held = tables.held
        for leg in range(legs):
            if not plain and leg_table[stream, leg, 0] < 0:
                held.standing[slot, leg] = SPENT
            else:
                held.standing[slot, leg] = SERVES if held.at[slot]["matched"] else FRESH

    @jit
    def match(tables, slot):
        at = tables.held.at
        if at[slot]["matched"]:
            return not rows or not is_spent(tables.held, slot)
        at[slot]["matched"] = 1
        stream = np.int64(at[slot]["stream"])
        tables.counts[stream, FOUND] += 1
        if rows:
            standing = tables.held.standing
            for leg in range(legs):
                standing[slot, leg] = SERVES if standing[slot, leg] == FRESH else SPENT
            if is_spent(tables.held, slot):
                orders.push_back(tables.spent, stream, slot)
                return False
        return True

    @jit
    def seat(tables, stream, room):
        if rows:
            newest(tables, stream, room)

    @jit
    def enter(tables, state, stream, slot, now):
        if not rows:
            return
        held, chain = tables.held, tables.keys.chain
        newest(tables, stream, slot)
        for leg in range(legs):
            if not plain and leg_table[stream, leg, 0] < 0:
                break
            old = np.int64(chain[slot, leg]["older"])
            if old == NONE:
                continue
            if held.at[old]["matched"]:
                held.standing[old, leg] = SPENT
                if is_spent(held, old):
                    orders.push_back(tables.spent, stream, old)
                    continue
            else:
                older = np.int64(chain[old, leg]["older"])
                next_older = SPENT if older == NONE else np.int64(held.standing[older, leg])
                held.standing[old, leg] = gains.behind(next_older)
            on_gain(state, held, old, now)

    @jit
    def leave(tables, state, stream, slot, now):
        if not rows:
            return
        held, chain = tables.held, tables.keys.chain
        if is_spent(held, slot):
            orders.unlink(tables.spent, stream, slot)
        for leg in range(legs):
            if not plain and leg_table[stream, leg, 0] < 0:
                break
            old = np.int64(chain[slot, leg]["older"])
            if old == NONE or chain[slot, leg]["newer"] != NONE:
                continue
            if is_spent(held, old):
                orders.unlink(tables.spent, stream, old)
            held.standing[old, leg] = SERVES if held.at[old]["matched"] else FRESH
            on_gain(state, held, old, now)

    @jit
    def spent(tables, lane):
        """Return the tuple spent first, of the stream that has most of them."""
        if not rows:
            return np.int64(NONE)
        which = np.int64(lane)
        if lanes == 1:
            for stream in range(1, streams):
                if orders.size(tables.spent, stream) > orders.size(tables.spent, which):
                    which = np.int64(stream)
        return orders.front(tables.spent, which)

    @jit
    def replaced(tables, stream, room, entry):
        if not rows:
            return np.int64(NONE)
        held, index = tables.held, tables.keys
        if plain:
            old = np.int64(NONE) if entry == NONE else slots.head(index, entry, stream)
            return old if old != NONE and held.at[old]["matched"] else np.int64(NONE)
        for leg in range(legs):
            join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
            if join < 0:
                break
            entry = slots.find(index, join, held.key[room, leg_table[stream, leg, 2]])
            old = np.int64(NONE) if entry == NONE else slots.head(index, entry, side)
            if old != NONE and held.at[old]["matched"]:
                others = 0
                for other in range(legs):
                    if other != leg and held.standing[old, other] != SPENT:
                        others += 1
                if others == 0:
                    return old
        return np.int64(NONE)

    return Standings(match, seat, enter, leave, spent, replaced)
