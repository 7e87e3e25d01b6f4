"""The kernels of a cache: what happens to one reference after another, compiled for one policy."""

import functools
from typing import Any, NamedTuple

import numpy as np

from ..kernel import keymap, pages
from ..kernel.jit import jit, kernel, specialise
from ..kernel.policy import REJECT, Policy, nothing
from ..kernel.slots import FOREVER, Held, make_held

AHEAD = 12  # references between asking for a bucket and needing it
NEAR = 1 << 17  # a table of up to so many buckets is always at hand
ROW, REFERENCE = 0, 1  # the streams of the join that caching is a case of
HITS, MISSES, EVICTED, REFUSED, TAKEN, USED, SAVED = range(7)  # what a cache counts
EMIT, NOTE = 1, 2  # write outcomes; note the last use of each row and how often it was used
MOST_USES = 15  # that are noted of a row


class LookupTables(NamedTuple):
    """Everything a cache remembers, except what its policy remembers."""

    held: Held
    free: np.ndarray  # int32[capacity + 1]: a stack of free slots
    buckets: np.ndarray  # int64[1, power of two]: from key to slot
    counts: np.ndarray  # int64[7]: hits, misses, evicted, refused, references taken, budget used,
    # and what the hits were worth, where that differs


def make_tables(capacity: int, sized: bool, weighed: bool) -> LookupTables:
    """Return empty tables with room for `capacity` rows."""
    return LookupTables(
        _empty(capacity, sized, weighed),
        pages.make_stack(0, capacity, capacity),
        keymap.make_buckets(capacity, roomy=not sized),
        np.zeros(7, np.int64),
    )


def grow_tables(old: dict[str, Any], capacity: int, sized: bool, weighed: bool) -> LookupTables:
    """Return the tables with room for `capacity` rows; old parts are dropped as they are grown."""
    buckets = keymap.make_buckets(capacity, roomy=not sized)
    keymap.rehash(old.pop("buckets"), buckets)
    rows, held = old.pop("held"), _empty(capacity, sized, weighed)
    held.key[: len(rows.key)] = rows.key
    held.at[: len(rows.at)] = rows.at
    held.worth[: len(rows.worth)] = rows.worth
    return LookupTables(held, pages.grow_stack(old.pop("free"), capacity), buckets, old["counts"])


def _empty(capacity: int, sized: bool, weighed: bool) -> Held:
    """Return room for `capacity` rows; keys lie apart, since a hit looks at nothing else."""
    held = make_held(capacity, 1, sized=sized, weighed=weighed)
    held.at["deadline"] = FOREVER
    return held._replace(key=pages.zeros((capacity + 1, 1), np.int64))


@jit
def seat(tables, room, stream, key, now):
    """Write what has come into the waiting room."""
    held = tables.held
    held.key[room, 0] = key
    held.at[room]["time"] = now
    held.at[room]["stream"] = stream


@functools.cache
def compile_lookup(policy: Policy, sized: bool = False, priced: bool = False):
    """Return `run(tables, state, keys, sizes, prices, start, stop, budget, emit, out) -> next`.

    It returns the first reference not taken: `stop`, or one whose row may fit a budget in bytes
    while no slot is free. `emit` is EMIT, NOTE, both or 0. If `priced` a hit is worth its price,
    else one.
    """
    on_arrival, on_insert, on_match, on_remove, choose_victim = policy.hooks
    counts_arrivals, weighed = on_arrival is not nothing, sized or priced

    @jit
    def evict(tables, state, by_slot, victim, now):
        on_remove(state, tables.held, victim, now)
        keymap.erase(tables.buckets, 0, by_slot[victim], victim)

    @jit
    def keep(tables, state, slot, key, now):
        held = tables.held
        held.key[slot, 0] = key
        held.at[slot]["stream"] = ROW
        held.at[slot]["time"] = now
        held.at[slot]["born"] = now
        held.at[slot]["row"] = now
        held.at[slot]["matched"] = 0
        keymap.add(tables.buckets, 0, key, slot)
        on_insert(state, held, slot, now)

    def run(tables, state, keys, sizes, prices, start, stop, budget, emit, out):
        by_slot = tables.held.key[:, 0]
        room = len(by_slot) - 1
        far = tables.buckets.shape[1] > NEAR
        hits = evicted = refused = saved = 0
        used, need = tables.counts[USED], np.int64(1)
        first = tables.counts[TAKEN] - start
        for i in range(start, stop):
            key, now = keys[i], first + i
            if sized and tables.free[0] == 0 and used + sizes[i] <= budget:
                stop = i
                break
            if far and i + AHEAD < stop:
                keymap.announce(tables.buckets, 0, keys[i + AHEAD])
            if counts_arrivals:
                seat(tables, room, REFERENCE, key, now)
                on_arrival(state, tables.held, room, now)
            slot = keymap.find(tables.buckets, 0, by_slot, key)
            hit, gone = slot >= 0, False
            if hit:
                hits += 1
                if priced:
                    saved += prices[i]
                if emit & NOTE:
                    tables.held.at[slot]["row"] = now
                    uses = tables.held.at[slot]["matched"]
                    tables.held.at[slot]["matched"] = min(uses + 1, MOST_USES)
                on_match(state, tables.held, slot, now)
            else:
                if sized:
                    need = sizes[i]
                if weighed:
                    worth = (prices[i] if priced else 1.0) / need
                if used + need > budget:
                    seat(tables, room, ROW, key, now)
                    if weighed:
                        tables.held.worth[room] = worth
                admitted = need <= budget
                while admitted and used + need > budget:
                    victim = np.int64(choose_victim(state, tables.held, room, now))
                    admitted = victim != REJECT
                    if admitted:
                        gone = True
                        evicted += 1
                        if emit & EMIT:
                            out.victim[i] = by_slot[victim]
                        evict(tables, state, by_slot, victim, now)
                        if sized:
                            used -= np.int64(tables.held.at[victim]["size"])
                            pages.push(tables.free, victim)
                        else:  # one is enough, and the newcomer takes its slot
                            used -= 1
                            slot = victim
                if admitted:
                    if slot < 0:
                        slot = pages.pop(tables.free)
                    if sized:
                        tables.held.at[slot]["size"] = need
                    if weighed:
                        tables.held.worth[slot] = worth
                    used += need
                    keep(tables, state, slot, key, now)
                else:
                    refused += 1
            if emit:
                out.hit[i] = hit
            if emit & EMIT:
                out.slot[i] = slot
                out.evicted[i] = gone
        tables.counts[HITS] += hits
        tables.counts[MISSES] += stop - start - hits
        tables.counts[EVICTED] += evicted
        tables.counts[REFUSED] += refused
        tables.counts[TAKEN] += stop - start
        tables.counts[USED] = used
        tables.counts[SAVED] += saved
        return stop

    return specialise(run, f"caches under {policy.name}")


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
        pages.push(tables.free, slot)
        tables.counts[USED] -= np.int64(tables.held.at[slot]["size"]) if sized else 1

    return remove


@functools.cache
def compile_discard(policy: Policy, sized: bool = False):
    """Return `discard(tables, state, keys, gone)`, which marks in `gone` what was cached."""
    remove = _remover(policy, sized)

    def discard(tables, state, keys, gone):
        by_slot = tables.held.key[:, 0]
        now = tables.counts[TAKEN]
        for i in range(len(keys)):
            slot = keymap.find(tables.buckets, 0, by_slot, keys[i])
            gone[i] = slot >= 0
            if gone[i]:
                remove(tables, state, slot, now)

    return specialise(discard, "discard of caches")


@functools.cache
def compile_fit(policy: Policy, sized: bool = False):
    """Return `fit(tables, state, live, gone, adopt, budget)`: fit restored rows into a budget.

    `live` are their slots in the order of arrival, `gone` a False for every slot. With `adopt` each
    is inserted into the policy as if it had just been fetched. Then it evicts what is too much;
    where it would rather reject a newcomer, the oldest is evicted.
    """
    remove = _remover(policy, sized)
    on_insert, choose_victim = policy.on_insert, policy.choose_victim

    @jit
    def evict_one(tables, state, oldest, room, now):
        held = tables.held
        key, time, stream = held.key[oldest, 0], held.at[oldest]["time"], held.at[oldest]["stream"]
        seat(tables, room, stream, key, time)
        if len(held.worth):
            held.worth[room] = held.worth[oldest]
        victim = np.int64(choose_victim(state, held, room, now))
        if victim == REJECT:
            victim = oldest
        tables.counts[EVICTED] += 1
        remove(tables, state, victim, now)
        return victim

    def fit(tables, state, live, gone, adopt, budget):
        now = tables.counts[TAKEN]
        room = len(tables.held.at) - 1
        if adopt:
            for slot in live:
                on_insert(state, tables.held, slot, now)
        for oldest in live:
            while not gone[oldest] and tables.counts[USED] > budget:
                gone[evict_one(tables, state, oldest, room, now)] = True

    return specialise(fit, "fit of caches")


@functools.cache
def compile_cache_adoption(policy: Policy):
    """Return `adopt(tables, state, live, keys, first)` for a cache.

    `live` are the held slots in the order of their last uses, which are noted; the first of the
    keys was the reference of number `first`. The hooks are called for each older row as often
    as it was used, then for the keys one after another.
    """
    on_arrival, on_insert, on_match = policy.on_arrival, policy.on_insert, policy.on_match

    def adopt(tables, state, live, keys, first):
        held = tables.held
        by_slot = held.key[:, 0]
        room = len(by_slot) - 1
        for slot in live:
            if held.at[slot]["born"] < first:
                now = min(held.at[slot]["row"], first)
                for use in range(1 + held.at[slot]["matched"]):
                    seat(tables, room, REFERENCE, by_slot[slot], now)
                    on_arrival(state, held, room, now)
                    if use == 0:
                        on_insert(state, held, slot, now)
                    else:
                        on_match(state, held, slot, now)
        for i in range(len(keys)):
            now = first + i
            seat(tables, room, REFERENCE, keys[i], now)
            on_arrival(state, held, room, now)
            slot = np.int64(keymap.find(tables.buckets, 0, by_slot, keys[i]))
            if slot >= 0 and held.at[slot]["born"] < now:
                on_match(state, held, slot, now)
            elif slot >= 0 and held.at[slot]["born"] == now:
                on_insert(state, held, slot, now)

    return specialise(adopt, "adopt of caches")
