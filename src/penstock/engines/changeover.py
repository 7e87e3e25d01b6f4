"""Another policy takes over what is held: it lives through the last arrivals once more.

A policy that met the held tuples only now would know nothing of how often their keys came or when
they last matched, and would throw the wrong ones away until it had learned. So the arrivals that
are still known are shown to it again: it hears of each, of the matches that these had with what is
still held, and of each held tuple when it came in.
"""

import functools

import numpy as np

from ..core import index as indexes
from ..core import keymap
from ..core.index import NONE
from ..core.jit import jit, specialise
from ..core.policy import Policy
from .kernel import Form, places, readers


@functools.cache
def compile_join_adoption(policy: Policy, form: Form):
    """Return `adopt(tables, states, live, rows, nows, known)` for a join.

    `live` are the held slots in the order of their times, `nows` the time at each of the rows, and
    `known` a False for every slot.
    """
    lane_of, _, _, _ = places(form)
    seat, _, _, _ = readers(form)
    lanes, plain, counting = form.lanes, form.shape.is_plain, form.counting
    on_arrival, on_insert, on_match = policy.on_arrival, policy.on_insert, policy.on_match

    @jit
    def match_again(tables, states, stream, room, now, known):
        """Let the policy hear of the matches of an arrival with those who are still held."""
        at, index = tables.held.at, tables.keys
        time, deadline = at[room]["time"], at[room]["deadline"]
        entry = indexes.find(index, 0, tables.held.key[room, 0])
        slot = np.int64(NONE) if entry == NONE else indexes.head(index, entry, 1 - stream)
        while slot != NONE:
            fits = counting or (time <= at[slot]["deadline"] and at[slot]["time"] <= deadline)
            if known[slot] and fits:
                on_match(states[lane_of(at[slot]["stream"])], tables.held, slot, now)
            slot = np.int64(index.chain[slot, 0]["older"])

    def adopt(tables, states, live, rows, nows, known):
        held = tables.held
        room, place = len(held.at) - 1, 0
        for i in range(len(nows)):
            seat(tables, rows, i, room)
            for lane in range(lanes):
                on_arrival(states[lane], held, room, nows[i])
            if plain:
                match_again(tables, states, np.int64(rows.stream[i]), room, nows[i], known)
            while place < len(live) and held.at[live[place]]["time"] <= rows.time[i]:
                slot = live[place]
                on_insert(states[lane_of(held.at[slot]["stream"])], held, slot, nows[i])
                known[slot] = True
                place += 1
        for later in range(place, len(live)):
            slot = live[later]
            on_insert(states[lane_of(held.at[slot]["stream"])], held, slot, tables.marks[0])

    return specialise(adopt)


@functools.cache
def compile_cache_adoption(policy: Policy):
    """Return `adopt(tables, state, live, keys, first)` for a cache.

    `live` are the held slots in the order of their births; the first of the keys was the reference
    of number `first`.
    """
    on_arrival, on_insert, on_match = policy.on_arrival, policy.on_insert, policy.on_match

    def adopt(tables, state, live, keys, first, reference):
        held = tables.held
        by_slot = held.key[:, 0]
        room = len(by_slot) - 1
        for slot in live:
            if held.at[slot]["born"] < first:
                on_insert(state, held, slot, first)
        for i in range(len(keys)):
            now = first + i
            held.key[room, 0] = keys[i]
            held.at[room]["time"] = now
            held.at[room]["stream"] = reference
            on_arrival(state, held, room, now)
            slot = np.int64(keymap.find(tables.buckets, 0, by_slot, keys[i]))
            if slot >= 0 and held.at[slot]["born"] < now:
                on_match(state, held, slot, now)
            elif slot >= 0 and held.at[slot]["born"] == now:
                on_insert(state, held, slot, now)

    return specialise(adopt)
