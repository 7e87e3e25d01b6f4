"""How a newcomer is matched with the held tuples of the other sides; part of the join's kernel."""

from typing import TYPE_CHECKING

import numpy as np

from ..kernel import slots
from ..kernel.band import NEARNESS
from ..kernel.jit import jit
from ..kernel.policy import Policy
from ..kernel.slots import NONE
from .standings import COMPLETED, MATCHED, make_standings

if TYPE_CHECKING:
    from .join_kernel import Form


def prober(policy: Policy, form: "Form", lane_of, remove):
    """Return `probe` and `foresee`: match the newcomer, and how many results it has at most."""
    shape, counting = form.shape, form.counting
    on_match, note_match = policy.on_match, make_standings(form).match
    plain, several_joins = shape.is_plain, len(shape.joins) > 1
    legs, sides = shape.legs, shape.sides
    leg_table, side_table = shape.leg_table, shape.side_table
    widths = np.array([len(join) for join in shape.joins])
    only_pairs = sides == 2
    beside, is_near = form.beside, NEARNESS[form.band]
    any_single = any(form.single)
    left_single, right_single = form.single if any_single else (False, False)
    low, high, pick = 0, 1, 2  # columns of path: what the picks have in common, and the picks

    @jit
    def matched(tables, states, slot, now):
        if note_match(tables, slot):
            on_match(states[lane_of(tables.held.at[slot]["stream"])], tables.held, slot, now)

    @jit
    def probe_two(tables, states, join, side, entry, room, now, emit, out, found):
        """Match with the one other side of a two-way join, newest first."""
        at, index = tables.held.at, tables.keys
        time, deadline, row = at[room]["time"], at[room]["deadline"], at[room]["row"]
        other_leg = 0 if plain else side_table[join, 1 - side, 1]
        slot = slots.head(index, entry, 1 - side)
        while slot != NONE:
            if fits(at, slot, time, deadline):
                if agree(tables, slot, room):
                    if emit:
                        out[found, side] = row
                        out[found, 1 - side] = at[slot]["row"]
                        if several_joins:
                            for pad in range(2, sides):
                                out[found, pad] = NONE
                            out[found, sides] = join
                    found += 1
                    matched(tables, states, slot, now)
            elif time > at[slot]["deadline"] and is_in_order(tables):
                break  # older ones have expired, too
            slot = np.int64(index.chain[slot, other_leg]["older"])
        return found

    @jit
    def is_in_order(tables):
        """Tell whether no held tuple expires before an older one: all wait in the one queue."""
        waiting = tables.expiry.ends[0, slots.SIZE]
        return waiting == len(tables.held.at) - 1 - tables.free[0]

    @jit
    def fits(at, slot, time, deadline):
        return counting or (time <= at[slot]["deadline"] and at[slot]["time"] <= deadline)

    @jit
    def agree(tables, slot, room):
        """Tell whether the values of a band join are near; keys are equal already."""
        key = tables.held.key
        return is_near(key[slot, -1], key[room, -1], tables.near[0])

    @jit
    def entry_beside(tables, own, room, step):
        """Return the entry of the cell `step` away from the newcomer's own, or NONE."""
        if step == 0:
            return own
        return np.int64(slots.find(tables.keys, 0, tables.held.key[room, 0] + step))

    @jit
    def is_single(side):
        return left_single if side == 0 else right_single

    @jit
    def pair(tables, states, side, row, slot, now, emit, out, found):
        """Note a result of the newcomer and a held tuple, which may be complete with it."""
        if emit:
            out[found, side] = row
            out[found, 1 - side] = tables.held.at[slot]["row"]
        matched(tables, states, slot, now)
        if is_single(1 - side):
            remove(tables, states, slot, now, COMPLETED)
        return found + 1

    @jit
    def next_fit(tables, slot, room):
        """Return the first that the newcomer matches of a slot and those kept after it, or NONE."""
        at, chain = tables.held.at, tables.keys.chain
        time, deadline = at[room]["time"], at[room]["deadline"]
        while slot != NONE and not (fits(at, slot, time, deadline) and agree(tables, slot, room)):
            slot = np.int64(chain[slot, 0]["newer"])
        return slot

    @jit
    def probe_single(tables, states, side, own, room, now, emit, out, found):
        """Match where rows are complete with one partner, which is the one that was kept first."""
        at, chain = tables.held.at, tables.keys.chain
        row, first = at[room]["row"], np.int64(NONE)
        for step in range(-beside, beside + 1):
            entry = entry_beside(tables, own, room, step)
            slot = np.int64(NONE)
            if entry != NONE:
                slot = next_fit(tables, slots.oldest(tables.keys, entry, 1 - side), room)
            if is_single(side):
                if slot != NONE and (first == NONE or at[slot]["born"] < at[first]["born"]):
                    first = slot
                continue
            while slot != NONE:
                newer = np.int64(chain[slot, 0]["newer"])
                found = pair(tables, states, side, row, slot, now, emit, out, found)
                slot = next_fit(tables, newer, room)
        if first != NONE:
            found = pair(tables, states, side, row, first, now, emit, out, found)
        return found

    @jit
    def probe_many(tables, states, join, side, entry, room, now, emit, out, found):
        """Match with all other sides at once: a depth-first walk over their lists.

        With `emit` 0 results are counted, with 1 also listed; with 2 they are only foreseen, and
        not reported.
        """
        at, index, path = tables.held.at, tables.keys, tables.path
        width = widths[join]
        depth = 1 if side == 0 else 0
        path[depth, low] = at[room]["time"]
        path[depth, high] = at[room]["deadline"]
        path[depth, pick] = slots.head(index, entry, depth)
        path[side, pick] = room
        while depth >= 0:
            slot = path[depth, pick]
            if slot == NONE:  # this side is exhausted: back to the one before, one further
                depth -= 2 if depth - 1 == side else 1
                if depth >= 0:
                    leg = side_table[join, depth, 1]
                    path[depth, pick] = index.chain[path[depth, pick], leg]["older"]
                continue
            time, deadline = at[slot]["time"], at[slot]["deadline"]
            near = counting or (time <= path[depth, high] and path[depth, low] <= deadline)
            last = depth == width - 1 or (depth == width - 2 and side == width - 1)
            if near and not last:
                bottom, top = max(path[depth, low], time), min(path[depth, high], deadline)
                depth += 2 if depth + 1 == side else 1
                path[depth, low] = bottom
                path[depth, high] = top
                path[depth, pick] = slots.head(index, entry, depth)
                continue
            if near:
                if emit == 1:
                    for each in range(width):
                        out[found, each] = at[path[each, pick]]["row"]
                    for pad in range(width, sides):
                        out[found, pad] = NONE
                    if several_joins:
                        out[found, sides] = join
                found += 1
                if emit != 2:
                    for each in range(width):
                        if each != side:
                            matched(tables, states, path[each, pick], now)
            path[depth, pick] = index.chain[slot, side_table[join, depth, 1]]["older"]
        return found

    @jit
    def foresee(tables, states, stream, room):
        """Return how many results the newcomer will have at most."""
        most = np.int64(0)
        for leg in range(legs):
            join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
            if join < 0:
                break
            key = tables.held.key[room, leg_table[stream, leg, 2]]
            entry = slots.find(tables.keys, join, key)
            for step in range(1, beside + 1):
                for other in (key - step, key + step):
                    near = slots.find(tables.keys, join, other)
                    if near != NONE:
                        most += tables.keys.entry[near, slots.HELD]
            if entry == NONE:
                continue
            if only_pairs or widths[join] == 2:
                most += np.int64(1) if is_single(side) else tables.keys.entry[entry, slots.HELD]
            else:
                most += probe_many(
                    tables, states, join, side, entry, room, 0, 2, tables.path, np.int64(0)
                )
        return most

    @jit
    def probe(tables, states, stream, room, now, emit, out, found):
        before = found
        if plain:
            entry = np.int64(slots.find(tables.keys, 0, tables.held.key[room, 0]))
            tables.path[0, 0] = entry
            if any_single:
                if beside or entry != NONE:
                    found = probe_single(tables, states, stream, entry, room, now, emit, out, found)
            else:
                for step in range(-beside, beside + 1):
                    cell = entry_beside(tables, entry, room, step)
                    if cell != NONE:
                        found = probe_two(
                            tables, states, 0, stream, cell, room, now, emit, out, found
                        )
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join < 0:
                    break
                key = tables.held.key[room, leg_table[stream, leg, 2]]
                entry = slots.find(tables.keys, join, key)
                if entry == NONE:
                    continue
                if only_pairs or widths[join] == 2:
                    found = probe_two(
                        tables, states, join, side, entry, room, now, emit, out, found
                    )
                else:
                    found = probe_many(
                        tables, states, join, side, entry, room, now, emit, out, found
                    )
        tables.counts[stream, MATCHED] += found - before
        return found

    return probe, foresee
