"""The join kernel: what happens to one arrival after another, compiled for one policy and shape.

`compile_join` closes over the hooks of a policy and the shape of the join, so that the plain
two-way join spends no time on what it does not use. One arrival is taken through these steps:

1. the clock moves and what has expired is removed;
2. the arrival is reported to the policy;
3. it is matched against the held tuples of the other sides;
4. it is kept, if it can still match anything: while there is no room a tuple is evicted that is of
   no use for the goal (`standings.py`), or else the policy names a victim or rejects the newcomer.

The rows of a side may be *single*: they have one partner at most, and are complete with it. A
complete row is not held. Every tuple that leaves is counted by its reason, and where departures are
logged an outer join makes rows without a partner of them.

Compiled code does not allocate: before an arrival is touched the kernel makes sure that its
results will fit into `out`, and otherwise comes back for a larger one.
"""

import functools
from typing import NamedTuple

import numpy as np

from ..kernel import keymap, pages, slots
from ..kernel.band import NEARNESS
from ..kernel.jit import jit, specialise
from ..kernel.order import Order
from ..kernel.policy import REJECT, Policy
from ..kernel.shape import Shape
from ..kernel.slots import NONE, Expiry, Held, Index
from .join_probe import prober
from .standings import COMPLETED, COUNTS, EVICTED, EXPIRED, FOUND, REFUSED, TAKEN, make_standings

NOW, BORN, TOGETHER = range(3)  # places of marks
USED, BUDGET = range(2)  # columns of lanes
NEVER = np.iinfo(np.int64).min  # the time before the first row
BUCKET_AHEAD, ENTRY_AHEAD, TUPLES_AHEAD = 12, 8, 4  # arrivals between asking for it and needing it
NEAR = 1 << 14  # what tables of up to so many buckets lead to is always at hand
COUNT, LIST, TALLY = range(3)  # what to do with results: count, list, or count for each row
SLOTS = -1  # what a kernel needs that comes back because no slot is free


class JoinTables(NamedTuple):
    """Everything a join remembers, except what its policy remembers."""

    held: Held
    free: np.ndarray  # int32[capacity + 1]: a stack of free slots
    keys: Index
    expiry: Expiry
    spent: Order  # a list for each stream; for no slots with the goal of pairs
    counts: np.ndarray  # int64[streams, COUNTS]: results, expired, evicted, refused, taken, found,
    # completed
    marks: np.ndarray  # int64[3]: time now, tuples kept so far, pairs that came together
    seen: np.ndarray  # int64[streams]: the largest time of each, where the slowest sets the clock
    lanes: np.ndarray  # int64[lanes, 2]: rows or bytes held, rows or bytes allowed
    path: np.ndarray  # int64[sides + 1, 3]: scratch for results of more than two sides; in the
    # plain join the first holds the entry of the newcomer's key
    # int64[1 + room for departures, 3]: how many; then row, `departure` and moment of each
    gone: np.ndarray
    near: np.ndarray  # int64[1]: how far apart values may lie, as `Band.bits`; 0 without a band


class Rows(NamedTuple):
    """One batch, in the order in which it is to be taken."""

    stream: np.ndarray  # int8[n]
    key: np.ndarray  # int64[n, attributes]
    time: np.ndarray  # int64[n]
    deadline: np.ndarray  # int64[n]; in a count window the number of tuples a window holds
    row: np.ndarray  # int64[n]: the numbers to report
    size: np.ndarray  # int64[n], or empty where the budget counts rows
    matched: np.ndarray  # bool[n]: written by the kernel: the row matched as it came


class Form(NamedTuple):
    """The compile-time constants of a kernel, besides the policy."""

    shape: Shape
    lanes: int  # separate memories: 1, or one per stream
    counting: bool  # windows are counted in tuples of the stream
    together: bool  # rows of equal time do not see each other
    sized: bool  # the budget counts bytes
    rows: bool = False  # the goal is rows that match, not pairs
    single: tuple[bool, ...] = ()  # sides whose rows are complete with one partner; two-way only
    logs_departures: bool = False
    band: str = ""  # the kind of the values that must be near, beside equal keys: see kernel/band

    @property
    def attributes(self) -> int:
        """The key columns of a tuple: those of the joins, and the value of a band join."""
        return self.shape.attributes + (self.band != "")

    @property
    def beside(self) -> int:
        """How many cells on either side of its own a newcomer looks into."""
        return int(self.band != "")


class Departures(NamedTuple):
    """Tuples that left the memory, or never came in."""

    row: np.ndarray  # int64[n]
    stream: np.ndarray  # int64[n]
    reason: np.ndarray  # int64[n]: EXPIRED, EVICTED, REFUSED or COMPLETED
    matched: np.ndarray  # bool[n]: it was in a result
    last: np.ndarray  # int64[n]: how many rows had been taken by then; it could match all of them


def read_departures(gone: np.ndarray) -> Departures:
    """Return the departures that are written down."""
    row, said, last = gone[1 : 1 + gone[0, 0]].T
    return Departures(row, said // (2 * COUNTS), said // 2 % COUNTS, said % 2 == 1, last)


# What asks nothing of the policy is made once for a form, so that it is compiled once.


@functools.cache
def places(form: Form):
    """Return the functions that know where a tuple belongs: its lane, its clock, its lists."""
    lanes, counting, plain = form.lanes, form.counting, form.shape.is_plain
    legs, leg_table = form.shape.legs, form.shape.leg_table

    @jit
    def lane_of(stream):
        return stream if lanes > 1 else 0

    @jit
    def clock_of(stream):
        return stream if counting else 0

    @jit
    def link(tables, stream, slot):
        if plain:
            slots.link(tables.keys, 0, stream, 0, tables.held.key[slot, 0], slot)
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join >= 0:
                    key = tables.held.key[slot, leg_table[stream, leg, 2]]
                    slots.link(tables.keys, join, side, leg, key, slot)

    @jit
    def unlink(tables, stream, slot):
        if plain:
            slots.unlink(tables.keys, 0, stream, 0, slot)
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join >= 0:
                    slots.unlink(tables.keys, join, side, leg, slot)

    return lane_of, clock_of, link, unlink


@functools.cache
def readers(form: Form):
    """Return the functions that read a batch: seat a row, look ahead, tell the time, pair up."""
    shape, counting, sized = form.shape, form.counting, form.sized
    attributes, plain, beside = form.attributes, shape.is_plain, form.beside
    is_near = NEARNESS[form.band]
    # Copies, since an array that is a view of another keeps a kernel from being kept on disk.
    first_join = shape.leg_table[:, 0, 0].copy()
    first_attribute = shape.leg_table[:, 0, 2].copy()

    @jit
    def seat(tables, rows, i, room):
        """Write row `i` into the waiting room."""
        held, stream = tables.held, rows.stream[i]
        for attribute in range(attributes):
            held.key[room, attribute] = rows.key[i, attribute]
        held.at[room]["stream"] = stream
        held.at[room]["time"] = rows.time[i]
        held.at[room]["row"] = rows.row[i]
        held.at[room]["matched"] = rows.matched[i]
        if counting:
            held.at[room]["deadline"] = tables.counts[stream, TAKEN] + rows.deadline[i] - 1
        else:
            held.at[room]["deadline"] = rows.deadline[i]
        if sized:
            held.at[room]["size"] = rows.size[i]

    @jit
    def look_ahead(tables, rows, i, stop):
        """Have fetched what rows to come will need: in a large memory it is seldom at hand.

        First the bucket of a key, then the entry that is in it, then the tuples which that begins
        with: each step finds at hand what the one before has asked for.
        """
        soon, index = i + BUCKET_AHEAD, tables.keys
        if soon < stop and first_join[rows.stream[soon]] >= 0:
            stream = rows.stream[soon]
            key = rows.key[soon, first_attribute[stream]]
            keymap.announce(index.buckets, first_join[stream], key)
        if plain and i + ENTRY_AHEAD < stop:
            entry = keymap.peek(index.buckets, 0, rows.key[i + ENTRY_AHEAD, 0])
            if entry != NONE:
                keymap.fetch(index.entry, entry, 0)
        if plain and i + TUPLES_AHEAD < stop:
            entry = keymap.peek(index.buckets, 0, rows.key[i + TUPLES_AHEAD, 0])
            if entry != NONE:
                for side in range(2):
                    slot = slots.head(index, entry, side)
                    if slot != NONE:
                        keymap.fetch(index.chain, slot, 0)

    @jit
    def clock_at(tables, stream, time, now, delay, slowest):
        """Return the time before which nothing more comes; the `slowest` stream may say."""
        if counting:
            return tables.counts[stream, TAKEN]
        if not slowest:
            return now - delay
        seen = tables.seen
        seen[stream] = max(seen[stream], time)
        least = seen[0]
        for other in range(1, len(seen)):
            least = min(least, seen[other])
        return least if least == NEVER else least - delay

    @jit
    def pair_up(tables, rows, first, i):
        """Count the rows of the same time that row `i` would match."""
        for j in range(first, i):
            if rows.stream[i] != rows.stream[j] and have_equal_keys(tables, rows, i, j):
                if rows.time[i] <= min(rows.deadline[i], rows.deadline[j]):
                    tables.marks[TOGETHER] += 1

    @jit
    def have_equal_keys(tables, rows, i, j):
        for step in range(-beside, beside + 1):
            if rows.key[i, 0] + step == rows.key[j, 0]:
                return is_near(rows.key[i, -1], rows.key[j, -1], tables.near[0])
        return False

    return seat, look_ahead, clock_at, pair_up


@functools.cache
def departer(form: Form):
    """Return `depart(tables, slot, reason)`: count a tuple that leaves, and log it if asked for."""
    logged = form.logs_departures

    @jit
    def depart(tables, slot, reason):
        at, gone = tables.held.at, tables.gone
        stream = np.int64(at[slot]["stream"])
        tables.counts[stream, reason] += 1
        if logged:
            gone[0, 0] += 1
            gone[gone[0, 0], 0] = at[slot]["row"]
            gone[gone[0, 0], 1] = (stream * COUNTS + reason) * 2 + at[slot]["matched"]
            gone[gone[0, 0], 2] = 0
            for each in range(len(tables.counts)):
                gone[gone[0, 0], 2] += tables.counts[each, TAKEN]

    return depart


def remover(policy: Policy, form: Form):
    """Return the function that takes a tuple out of every table, for a reason."""
    lane_of, clock_of, _, unlink = places(form)
    depart = departer(form)
    on_remove, sized = policy.on_remove, form.sized
    leave = make_standings(form, policy.on_gain).leave

    @jit
    def remove(tables, states, slot, now, reason):
        held = tables.held
        stream = np.int64(held.at[slot]["stream"])
        depart(tables, slot, reason)
        on_remove(states[lane_of(stream)], held, slot, now)
        leave(tables, states[lane_of(stream)], stream, slot, now)
        unlink(tables, stream, slot)
        slots.unqueue(tables.expiry, clock_of(stream), held, slot)
        if sized:
            tables.lanes[lane_of(stream), USED] -= held.at[slot]["size"]
        else:
            tables.lanes[lane_of(stream), USED] -= 1
        pages.push(tables.free, slot)

    return remove


@functools.cache
def _expirer(policy: Policy, form: Form):
    """Return `expire(tables, states, which, clock, now)`: drop what can match nothing any more."""
    remove = remover(policy, form)

    @jit
    def expire(tables, states, which, clock, now):
        while True:
            slot = slots.next_expired(tables.expiry, which, tables.held, clock)
            if slot == NONE:
                return
            remove(tables, states, slot, now, EXPIRED)

    return expire


@functools.cache
def compile_expire(policy: Policy, form: Form):
    """Return `expire(tables, states, clock)`: drop at once what expires before this time."""
    drop = _expirer(policy, form)

    def expire(tables, states, clock):
        drop(tables, states, 0, clock, tables.marks[NOW])

    return specialise(expire, "what joins expire")


@functools.cache
def compile_join(policy: Policy, form: Form):
    """Return `run(tables, states, rows, start, stop, delay, slowest, emit, out) -> (next, found,
    need)`.

    It takes the rows from `start` and returns the first one not taken: `stop`, or one whose
    results (`need` at most) do not fit behind the `found` ones in `out`, or one that fits a budget
    in bytes while no slot is free (`need` is SLOTS). With `TALLY` each row has a line of its own in
    `out`, which holds how many results it completed, and how many rows then had their first.
    """
    shape, lanes, counting, together, sized, by_rows, single, *_ = form
    on_arrival, on_insert, choose_victim = policy.on_arrival, policy.on_insert, policy.choose_victim
    lane_of, clock_of, link, _ = places(form)
    remove, depart = remover(policy, form), departer(form)
    probe, foresee = prober(policy, form, lane_of, remove)
    seat, look_ahead, clock_at, pair_up = readers(form)
    _, stand, enter, _, spent, replaced = make_standings(form, policy.on_gain)
    attributes, plain = form.attributes, shape.is_plain
    any_single = any(single)
    left_single, right_single = single if any_single else (False, False)

    @jit
    def is_complete(tables, stream, room):
        single = left_single if stream == 0 else right_single
        return single and tables.held.at[room]["matched"]

    @jit
    def entry_of(tables, room):
        """Return the entry of the newcomer's key in the plain join, or NONE.

        It was looked up to match the newcomer, unless others were matched since.
        """
        key = tables.held.key[room, 0]
        if together:
            return np.int64(slots.find(tables.keys, 0, key))
        return slots.still(tables.keys, tables.path[0, 0], key)

    expire = _expirer(policy, form)

    @jit
    def make_room(tables, states, stream, room, now):
        """Free what the newcomer needs; tell whether it may come in."""
        lane = lane_of(stream)
        need = np.int64(1)
        if sized:
            need = np.int64(tables.held.at[room]["size"])
        if need > tables.lanes[lane, BUDGET]:
            return False
        while tables.lanes[lane, USED] + need > tables.lanes[lane, BUDGET]:
            victim = spent(tables, lane)
            if by_rows and victim == NONE:
                entry = entry_of(tables, room) if plain else np.int64(NONE)
                victim = replaced(tables, stream, room, entry)
            if victim == NONE:
                victim = np.int64(choose_victim(states[lane], tables.held, room, now))
            if victim == REJECT:
                return False
            remove(tables, states, victim, now, EVICTED)
        tables.lanes[lane, USED] += need
        return True

    @jit
    def keep(tables, states, stream, room, clock, now):
        held = tables.held
        if any_single:
            if is_complete(tables, stream, room):
                depart(tables, room, COMPLETED)
                return
        if held.at[room]["deadline"] < clock:  # nothing to come can match it
            depart(tables, room, EXPIRED)
            return
        stand(tables, stream, room)
        if not make_room(tables, states, stream, room, now):
            depart(tables, room, REFUSED)
            return
        slot = pages.pop(tables.free)
        for attribute in range(attributes):
            held.key[slot, attribute] = held.key[room, attribute]
        held.at[slot]["time"] = held.at[room]["time"]
        held.at[slot]["deadline"] = held.at[room]["deadline"]
        held.at[slot]["row"] = held.at[room]["row"]
        held.at[slot]["stream"] = stream
        held.at[slot]["matched"] = held.at[room]["matched"]
        if sized:
            held.at[slot]["size"] = held.at[room]["size"]
        held.at[slot]["born"] = tables.marks[BORN]
        tables.marks[BORN] += 1
        if plain:
            entry = entry_of(tables, room)
            slots.link_at(tables.keys, entry, 0, stream, 0, held.key[slot, 0], slot)
        else:
            link(tables, stream, slot)
        slots.queue(tables.expiry, clock_of(stream), held, slot)
        enter(tables, states[lane_of(stream)], stream, slot, now)
        on_insert(states[lane_of(stream)], held, slot, now)

    @jit
    def announce(tables, states, room, now):
        tables.counts[tables.held.at[room]["stream"], TAKEN] += 1
        for lane in range(lanes):
            on_arrival(states[lane], tables.held, room, now)

    @jit
    def match_all(tables, states, rows, i, stream, room, now, emit, out, found):
        """Match row `i`, which sits in the waiting room, and note whether it had a result."""
        before = found
        found = probe(tables, states, stream, room, now, emit, out, found)
        rows.matched[i] = found > before
        tables.held.at[room]["matched"] = found > before
        if found > before:
            tables.counts[stream, FOUND] += 1
        return found

    @jit
    def take_one(tables, states, rows, i, delay, slowest, room, emit, out, found):
        stream = np.int64(rows.stream[i])
        now = tables.marks[NOW] + 1 if counting else max(tables.marks[NOW], rows.time[i])
        tables.marks[NOW] = now
        clock = clock_at(tables, stream, rows.time[i], now, delay, slowest)
        expire(tables, states, clock_of(stream), clock, now)
        announce(tables, states, room, now)
        found = match_all(tables, states, rows, i, stream, room, now, emit, out, found)
        keep(tables, states, stream, room, clock, now)
        return found

    @jit
    def take_step(tables, states, rows, first, last, room, emit, out, found):
        """Take rows of one time together: all are matched before any is kept."""
        now = rows.time[first]
        tables.marks[NOW] = now
        expire(tables, states, 0, now, now)
        for i in range(first, last):
            seat(tables, rows, i, room)
            announce(tables, states, room, now)
            stream = np.int64(rows.stream[i])
            found = match_all(tables, states, rows, i, stream, room, now, emit, out, found)
            pair_up(tables, rows, first, i)
        expire(tables, states, 0, now + 1, now)
        for i in range(first, last):
            seat(tables, rows, i, room)
            keep(tables, states, np.int64(rows.stream[i]), room, now + 1, now)
        return found

    @jit
    def step_need(tables, states, rows, first, last, room):
        need = np.int64(0)
        for i in range(first, last):
            seat(tables, rows, i, room)
            need += foresee(tables, states, np.int64(rows.stream[i]), room)
        return need

    @jit
    def lacks_slots(tables, rows, first, last):
        """Tell whether rows may be kept and find no slot; rows that are counted always find one."""
        if not sized or tables.free[0] >= last - first:
            return False
        lane = lane_of(rows.stream[first])
        used, budget = tables.lanes[lane, USED], tables.lanes[lane, BUDGET]
        return last - first > 1 or used + rows.size[first] <= budget

    @jit
    def rows_found(tables):
        """Return how many rows have had a result."""
        count = np.int64(0)
        for stream in range(len(tables.counts)):
            count += tables.counts[stream, FOUND]
        return count

    def run_step_by_step(tables, states, rows, start, stop, delay, slowest, emit, out):
        room = len(tables.held.at) - 1
        found, first = np.int64(0), start
        while first < stop:
            last = first + 1
            while last < stop and rows.time[last] == rows.time[first]:
                last += 1
            if lacks_slots(tables, rows, first, last):
                return first, found, np.int64(SLOTS)
            if emit:
                need = step_need(tables, states, rows, first, last, room)
                if found + need > len(out):
                    return first, found, need
            found = take_step(tables, states, rows, first, last, room, emit, out, found)
            first = last
        return stop, found, np.int64(0)

    def run(tables, states, rows, start, stop, delay, slowest, emit, out):
        room = len(tables.held.at) - 1
        found, listed = np.int64(0), np.int64(emit == LIST)
        far = tables.keys.buckets.shape[1] > NEAR
        for i in range(start, stop):
            if far:
                look_ahead(tables, rows, i, stop)
            if lacks_slots(tables, rows, i, i + 1):
                return i, found, np.int64(SLOTS)
            seat(tables, rows, i, room)
            if listed:
                need = foresee(tables, states, np.int64(rows.stream[i]), room)
                if found + need > len(out):
                    return i, found, need
            before, had = found, rows_found(tables) if emit == TALLY else np.int64(0)
            found = take_one(tables, states, rows, i, delay, slowest, room, listed, out, found)
            if emit == TALLY:
                out[i - start, 0] = found - before
                out[i - start, 1] = rows_found(tables) - had
        return stop, found, np.int64(0)

    chosen = run_step_by_step if together else run
    return specialise(chosen, f"joins under {policy.name}")
