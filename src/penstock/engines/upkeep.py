"""What a cache does between references: find rows, let some go, fit into another budget."""

import functools

import numpy as np

from ..core import keymap, stack
from ..core.jit import jit, kernel, specialise
from ..core.policy import REFUSE, Policy

HITS, MISSES, EVICTED, REFUSED, TAKEN, USED = range(6)  # what a cache counts


@kernel
def find_all(buckets, by_slot, keys, out):
    """Write the slot of each key into `out`, -1 where it is not cached."""
    for i in range(len(keys)):
        out[i] = keymap.find(buckets, 0, by_slot, keys[i])


def _remover(policy: Policy, sized: bool):
    """Return the function that takes a row out of every table."""
    on_remove = policy.on_remove

    @jit
    def remove(tables, state, slot, now):
        on_remove(state, tables.held, slot, now)
        keymap.erase(tables.buckets, 0, tables.held.key[slot, 0], slot)
        stack.push(tables.free, slot)
        tables.counts[USED] -= np.int64(tables.held.at[slot]["size"]) if sized else 1

    return remove


@functools.cache
def compile_discard(policy: Policy, sized: bool = False):
    """Return `discard(tables, state, keys, gone)`, which marks in `gone` who was cached."""
    remove = _remover(policy, sized)

    def discard(tables, state, keys, gone):
        by_slot = tables.held.key[:, 0]
        now = tables.counts[TAKEN]
        for i in range(len(keys)):
            slot = keymap.find(tables.buckets, 0, by_slot, keys[i])
            gone[i] = slot >= 0
            if gone[i]:
                remove(tables, state, slot, now)

    return specialise(discard)


@functools.cache
def compile_settle(policy: Policy, sized: bool = False):
    """Return `settle(tables, state, live, gone, adopt, budget)`: restored rows find their place.

    `live` are their slots in the order of birth, `gone` a False for every slot. With `adopt` the
    policy meets each of them as if it had just been fetched. Then it gives up what is too much; if
    it would rather refuse a newcomer, the oldest goes.
    """
    remove = _remover(policy, sized)
    on_insert, choose_victim = policy.on_insert, policy.choose_victim

    @jit
    def give_up(tables, state, oldest, room, now):
        held = tables.held
        held.key[room, 0] = held.key[oldest, 0]
        held.at[room]["time"] = held.at[oldest]["time"]
        held.at[room]["stream"] = held.at[oldest]["stream"]
        victim = np.int64(choose_victim(state, held, room, now))
        if victim == REFUSE:
            victim = oldest
        tables.counts[EVICTED] += 1
        remove(tables, state, victim, now)
        return victim

    def settle(tables, state, live, gone, adopt, budget):
        now = tables.counts[TAKEN]
        room = len(tables.held.at) - 1
        if adopt:
            for slot in live:
                on_insert(state, tables.held, slot, now)
        for oldest in live:
            while not gone[oldest] and tables.counts[USED] > budget:
                gone[give_up(tables, state, oldest, room, now)] = True

    return specialise(settle)
