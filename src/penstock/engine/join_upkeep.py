"""What a join does between batches: make tables and grow them, restore, evict, replay, recount."""

import functools
from typing import Any

import numpy as np

from ..kernel import keymap, pages, slots
from ..kernel.band import NEARNESS
from ..kernel.jit import jit, specialise
from ..kernel.order import make_order, push_back
from ..kernel.policy import REJECT, Policy, grown
from ..kernel.slots import NONE
from .departures import no_departures
from .join_kernel import BUDGET, NEVER, USED, Form, JoinTables, places, readers, remover
from .standings import COUNTS, EVICTED, make_standings


def make_tables(
    form: Form, capacity: int, budgets: list[int], late: int | None = None, near: int = 0
) -> JoinTables:
    """Return empty tables with room for `capacity` tuples, `late` of them with late deadlines.

    In a band join values may lie `near` apart, as `Band.bits` has it.
    """
    shape = form.shape
    lanes = np.zeros((form.lanes, 2), np.int64)
    lanes[:, 1] = budgets
    held = slots.make_held(capacity, form.attributes, shape.legs, form.sized, form.rows)
    return JoinTables(
        held,
        pages.make_stack(0, capacity, capacity),
        _make_index(form, capacity, held),
        slots.make_expiry(capacity, shape.streams if form.counting else 1, late),
        make_order(capacity if form.rows else 0, shape.streams),
        np.zeros((shape.streams, COUNTS), np.int64),
        np.array([-1 if form.counting else NEVER, 0, 0], np.int64),
        np.full(shape.streams, NEVER),
        lanes,
        np.zeros((shape.sides + 1, 3), np.int64),
        no_departures(),
        np.array([near], np.int64),
    )


def _make_index(form: Form, capacity: int, held: slots.Held) -> slots.Index:
    shape, chain = form.shape, slots.chains(held)
    joins, sides, legs = len(shape.joins), shape.sides, shape.legs
    return slots.make_index(capacity, joins, sides, legs, chain, tails=any(form.single))


def grow_tables(form: Form, old: dict[str, Any], capacity: int) -> JoinTables:
    """Return the tables with room for `capacity` tuples.

    `old` are the parts of the tables by name, which nothing else may refer to: each is dropped as
    soon as there is a larger one, so that there are never two of everything.
    """
    shape = form.shape
    index = dict(old.pop("keys")._asdict())
    del index["chain"]  # a view of the tuples
    held = slots.grow_held(old.pop("held"), capacity)
    fresh = _make_index(form, capacity, held)
    keymap.rehash(index.pop("buckets"), fresh.buckets)
    keys = fresh._replace(
        entry=grown(index.pop("entry"), fresh.entry),
        unused=pages.grow_stack(index.pop("unused"), len(fresh.entry)),
        tail=grown(index.pop("tail"), fresh.tail),
    )
    free = pages.grow_stack(old.pop("free"), capacity)
    expiry = old.pop("expiry")
    late = len(expiry.late.node)
    if form.sized:  # it grows while rows are taken, any of which may be late
        late += capacity - len(expiry.late.place)
    expiry = grown(expiry, slots.make_expiry(capacity, len(expiry.ends), late))
    spent = grown(old.pop("spent"), make_order(capacity if form.rows else 0, shape.streams))
    return JoinTables(held=held, free=free, keys=keys, expiry=expiry, spent=spent, **old)


@functools.cache
def compile_rebuild(policy: Policy, form: Form):
    """Return `rebuild(tables, states, live, adopt, known, spent, now)`: put restored tuples back.

    `live` are their slots in the order of arrival. With `adopt` each of them is inserted into the
    policy as if it had just been kept. Where standings are `known` they stay as they are, and the
    `spent` are listed in this order; else they are worked out.
    """
    lane_of, clock_of, link, _ = places(form)
    on_insert, sized = policy.on_insert, form.sized
    enter = make_standings(form).enter

    def rebuild(tables, states, live, adopt, known, spent, now):
        held = tables.held
        for slot in live:
            stream = np.int64(held.at[slot]["stream"])
            link(tables, stream, slot)
            if not known:
                enter(tables, states[lane_of(stream)], stream, slot, now)
            slots.queue(tables.expiry, clock_of(stream), held, slot)
            if sized:
                tables.lanes[lane_of(stream), USED] += held.at[slot]["size"]
            else:
                tables.lanes[lane_of(stream), USED] += 1
        for slot in spent:
            push_back(tables.spent, np.int64(held.at[slot]["stream"]), slot)
        for slot in live:
            if adopt:
                on_insert(states[lane_of(held.at[slot]["stream"])], held, slot, now)

    return specialise(rebuild, "rebuild of joins")


@functools.cache
def compile_shrink(policy: Policy, form: Form):
    """Return `shrink(tables, states, live, gone, now)`: evict until every lane fits its budget.

    `live` are the slots in use in the order of arrival, `gone` a False for every slot. First what
    is spent is evicted. Then the policy chooses as it would for a newcomer like the oldest tuple;
    if it would reject that one, the oldest itself is evicted.
    """
    lane_of, _, _, _ = places(form)
    remove, spent = remover(policy, form), make_standings(form).spent
    choose_victim, attributes = policy.choose_victim, form.attributes
    rows, legs = form.rows, form.shape.legs

    @jit
    def evict(tables, states, lane, oldest, room, now):
        held = tables.held
        for attribute in range(attributes):
            held.key[room, attribute] = held.key[oldest, attribute]
        held.at[room]["stream"] = held.at[oldest]["stream"]
        held.at[room]["time"] = held.at[oldest]["time"]
        held.at[room]["deadline"] = held.at[oldest]["deadline"]
        if rows:
            for leg in range(legs):
                held.standing[room, leg] = held.standing[oldest, leg]
        victim = spent(tables, lane)
        if victim == NONE:
            victim = np.int64(choose_victim(states[lane], held, room, now))
        if victim == REJECT:
            victim = oldest
        remove(tables, states, victim, now, EVICTED)
        return victim

    def shrink(tables, states, live, gone, now):
        held = tables.held
        room = len(held.at) - 1
        for oldest in live:
            lane = lane_of(held.at[oldest]["stream"])
            while not gone[oldest] and tables.lanes[lane, USED] > tables.lanes[lane, BUDGET]:
                gone[evict(tables, states, lane, oldest, room, now)] = True

    return specialise(shrink, "shrink of joins")


@functools.cache
def compile_join_adoption(policy: Policy, form: Form):
    """Return `adopt(tables, states, live, rows, nows, known)` for a join.

    `live` are the held slots in the order of their times, `nows` the time at each of the rows, and
    `known` a False for every slot.
    """
    lane_of, _, _, _ = places(form)
    seat, _, _, _ = readers(form)
    lanes, plain, counting = form.lanes, form.shape.is_plain, form.counting
    beside, is_near = form.beside, NEARNESS[form.band]
    on_arrival, on_insert, on_match = policy.on_arrival, policy.on_insert, policy.on_match

    @jit
    def match_again(tables, states, stream, room, now, known):
        """Report to the policy the matches of an arrival with tuples that are still held."""
        at, index = tables.held.at, tables.keys
        key, near = tables.held.key, tables.near[0]
        time, deadline = at[room]["time"], at[room]["deadline"]
        for step in range(-beside, beside + 1):
            entry = slots.find(index, 0, key[room, 0] + step)
            slot = np.int64(NONE) if entry == NONE else slots.head(index, entry, 1 - stream)
            while slot != NONE:
                fits = counting or (time <= at[slot]["deadline"] and at[slot]["time"] <= deadline)
                if known[slot] and fits and is_near(key[slot, -1], key[room, -1], near):
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

    return specialise(adopt, "adopt of joins")
