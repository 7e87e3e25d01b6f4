"""The join kernel: what happens to one arrival after another, compiled for one policy and shape.

`compile_join` closes over the hooks of a policy and the shape of the join, so that the plain
two-way join pays nothing for what it does not use. One arrival is taken through these steps:

1. the clock moves and the dead leave;
2. the policy hears of the arrival;
3. it is matched against the held tuples of the other sides;
4. it is kept, if it can still match anything: while there is no room a tuple is evicted that is of
   no use for the goal (`standings.py`), or else the policy names a victim or rejects the newcomer.

Compiled code does not allocate: before an arrival is touched the kernel makes sure that its
results will fit into `out`, and otherwise comes back for a larger one.
"""

import functools
from typing import NamedTuple

import numpy as np

from ..core import expiry as expiries
from ..core import index as indexes
from ..core import keymap, stack
from ..core import order as orders
from ..core.expiry import Expiry
from ..core.index import NONE, Index
from ..core.jit import jit, specialise
from ..core.order import Order
from ..core.policy import REFUSE, Policy
from ..core.shape import Shape
from ..core.slots import Held
from .standings import FOUND, make_standings

MATCHED, EXPIRED, EVICTED, REFUSED, TAKEN = range(FOUND)  # columns of counts, before FOUND
COUNTS = FOUND + 1
NOW, BORN, TOGETHER = range(3)  # places of marks
USED, BUDGET = range(2)  # columns of lanes
NEVER = np.iinfo(np.int64).min  # the time before the first row
AHEAD = 12  # arrivals between asking for a bucket and needing it
COUNT, LIST, TALLY = range(3)  # what to do with results: count, list, or count for each row
SLOTS = -1  # what a kernel needs that comes back because no slot is free


class Tables(NamedTuple):
    """Everything a join remembers, except what its policy remembers."""

    held: Held
    free: np.ndarray  # int32[capacity + 1]: a stack of free slots
    keys: Index
    expiry: Expiry
    spent: Order  # a list for each stream; for no slots with the goal of pairs
    counts: np.ndarray  # int64[streams, COUNTS]: results, expired, evicted, refused, taken, found
    marks: np.ndarray  # int64[3]: time now, tuples kept so far, pairs that came together
    seen: np.ndarray  # int64[streams]: the largest time of each, where the slowest sets the clock
    lanes: np.ndarray  # int64[lanes, 2]: rows or bytes held, rows or bytes allowed
    path: np.ndarray  # int64[sides + 1, 3]: scratch for results of more than two sides; in the
    # plain join the first holds the entry of the newcomer's key


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
    def hang(tables, stream, slot):
        if plain:
            indexes.hang(tables.keys, 0, stream, 0, tables.held.key[slot, 0], slot)
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join >= 0:
                    key = tables.held.key[slot, leg_table[stream, leg, 2]]
                    indexes.hang(tables.keys, join, side, leg, key, slot)

    @jit
    def unhang(tables, stream, slot):
        if plain:
            indexes.unhang(tables.keys, 0, stream, 0, slot)
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join >= 0:
                    indexes.unhang(tables.keys, join, side, leg, slot)

    return lane_of, clock_of, hang, unhang


@functools.cache
def readers(form: Form):
    """Return the functions that read a batch: seat a row, look ahead, tell the time, pair up."""
    shape, counting, sized = form.shape, form.counting, form.sized
    attributes = shape.attributes
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
        """Have the bucket of a row to come fetched: in a large memory it is seldom at hand."""
        soon = i + AHEAD
        if soon < stop and first_join[rows.stream[soon]] >= 0:
            stream = rows.stream[soon]
            key = rows.key[soon, first_attribute[stream]]
            keymap.announce(tables.keys.buckets, first_join[stream], key)

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
            if rows.stream[i] != rows.stream[j] and rows.key[i, 0] == rows.key[j, 0]:
                if rows.time[i] <= min(rows.deadline[i], rows.deadline[j]):
                    tables.marks[TOGETHER] += 1

    return seat, look_ahead, clock_at, pair_up


def _remover(policy: Policy, form: Form):
    """Return the function that takes a tuple out of every table."""
    lane_of, clock_of, _, unhang = places(form)
    on_remove, sized = policy.on_remove, form.sized
    leave = make_standings(form, policy.on_gain).leave

    @jit
    def remove(tables, states, slot, now):
        held = tables.held
        stream = np.int64(held.at[slot]["stream"])
        on_remove(states[lane_of(stream)], held, slot, now)
        leave(tables, states[lane_of(stream)], stream, slot, now)
        unhang(tables, stream, slot)
        expiries.leave(tables.expiry, clock_of(stream), held, slot)
        if sized:
            tables.lanes[lane_of(stream), USED] -= held.at[slot]["size"]
        else:
            tables.lanes[lane_of(stream), USED] -= 1
        stack.push(tables.free, slot)

    return remove


def _prober(policy: Policy, form: Form):
    """Return the function that matches the newcomer with what is held."""
    lane_of, _, _, _ = places(form)
    shape, counting = form.shape, form.counting
    on_match, note_match = policy.on_match, make_standings(form).match
    plain, several_joins = shape.is_plain, len(shape.joins) > 1
    legs, sides = shape.legs, shape.sides
    leg_table, side_table = shape.leg_table, shape.side_table
    widths = np.array([len(join) for join in shape.joins])
    only_pairs = sides == 2
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
        slot = indexes.head(index, entry, 1 - side)
        while slot != NONE:
            if counting or (time <= at[slot]["deadline"] and at[slot]["time"] <= deadline):
                if emit:
                    out[found, side] = row
                    out[found, 1 - side] = at[slot]["row"]
                    if several_joins:
                        for pad in range(2, sides):
                            out[found, pad] = NONE
                        out[found, sides] = join
                found += 1
                matched(tables, states, slot, now)
            slot = np.int64(index.chain[slot, other_leg]["older"])
        return found

    @jit
    def probe_many(tables, states, join, side, entry, room, now, emit, out, found):
        """Match with all other sides at once: a depth-first walk over their lists.

        With `emit` 0 results are counted, with 1 also listed; with 2 they are only foreseen, and
        nobody hears of them.
        """
        at, index, path = tables.held.at, tables.keys, tables.path
        width = widths[join]
        depth = 1 if side == 0 else 0
        path[depth, low] = at[room]["time"]
        path[depth, high] = at[room]["deadline"]
        path[depth, pick] = indexes.head(index, entry, depth)
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
            fits = counting or (time <= path[depth, high] and path[depth, low] <= deadline)
            last = depth == width - 1 or (depth == width - 2 and side == width - 1)
            if fits and not last:
                bottom, top = max(path[depth, low], time), min(path[depth, high], deadline)
                depth += 2 if depth + 1 == side else 1
                path[depth, low] = bottom
                path[depth, high] = top
                path[depth, pick] = indexes.head(index, entry, depth)
                continue
            if fits:
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
            entry = indexes.find(tables.keys, join, key)
            if entry == NONE:
                continue
            if only_pairs or widths[join] == 2:
                most += tables.keys.entry[entry, indexes.HELD]
            else:
                most += probe_many(
                    tables, states, join, side, entry, room, 0, 2, tables.path, np.int64(0)
                )
        return most

    @jit
    def probe(tables, states, stream, room, now, emit, out, found):
        before = found
        if plain:
            entry = np.int64(indexes.find(tables.keys, 0, tables.held.key[room, 0]))
            tables.path[0, 0] = entry
            if entry != NONE:
                found = probe_two(tables, states, 0, stream, entry, room, now, emit, out, found)
        else:
            for leg in range(legs):
                join, side = leg_table[stream, leg, 0], leg_table[stream, leg, 1]
                if join < 0:
                    break
                key = tables.held.key[room, leg_table[stream, leg, 2]]
                entry = indexes.find(tables.keys, join, key)
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


@functools.cache
def compile_join(policy: Policy, form: Form):
    """Return `run(tables, states, rows, start, stop, delay, slowest, emit, out) -> (next, found,
    need)`.

    It takes the rows from `start` and returns the first one not taken: `stop`, or one whose
    results (`need` at most) do not fit behind the `found` ones in `out`, or one that fits a budget
    in bytes while no slot is free (`need` is SLOTS). With `TALLY` each row has a line of its own in
    `out`, which holds how many results it completed, and how many rows then had their first.
    """
    shape, lanes, counting, together, sized, by_rows = form
    on_arrival, on_insert, choose_victim = policy.on_arrival, policy.on_insert, policy.choose_victim
    lane_of, clock_of, hang, _ = places(form)
    remove = _remover(policy, form)
    probe, foresee = _prober(policy, form)
    seat, look_ahead, clock_at, pair_up = readers(form)
    standings = make_standings(form, policy.on_gain)
    stand, enter, spent, replaced = (
        standings.seat,
        standings.enter,
        standings.spent,
        standings.replaced,
    )
    attributes, plain = shape.attributes, shape.is_plain

    @jit
    def entry_of(tables, room):
        """Return the entry of the newcomer's key in the plain join, or NONE.

        It was looked up to match the newcomer, unless others were matched since.
        """
        key = tables.held.key[room, 0]
        if together:
            return np.int64(indexes.find(tables.keys, 0, key))
        return indexes.still(tables.keys, tables.path[0, 0], key)

    @jit
    def expire(tables, states, which, clock, now):
        while True:
            slot = expiries.next_dead(tables.expiry, which, tables.held, clock)
            if slot == NONE:
                return
            tables.counts[tables.held.at[slot]["stream"], EXPIRED] += 1
            remove(tables, states, slot, now)

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
            if victim == REFUSE:
                return False
            tables.counts[tables.held.at[victim]["stream"], EVICTED] += 1
            remove(tables, states, victim, now)
        tables.lanes[lane, USED] += need
        return True

    @jit
    def keep(tables, states, stream, room, clock, now):
        held = tables.held
        if held.at[room]["deadline"] < clock:  # nothing to come can match it
            tables.counts[stream, EXPIRED] += 1
            return
        stand(tables, stream, room)
        if not make_room(tables, states, stream, room, now):
            tables.counts[stream, REFUSED] += 1
            return
        slot = stack.pop(tables.free)
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
            indexes.hang_at(tables.keys, entry, 0, stream, 0, held.key[slot, 0], slot)
        else:
            hang(tables, stream, slot)
        expiries.enter(tables.expiry, clock_of(stream), held, slot)
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
        for i in range(start, stop):
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
    return specialise(chosen)


@functools.cache
def compile_rebuild(policy: Policy, form: Form):
    """Return `rebuild(tables, states, live, adopt, known, spent, now)`: put restored tuples back.

    `live` are their slots in the order of birth. With `adopt` the policy meets each of them as if
    it had just been kept. Where standings are `known` they stay as they are, and the `spent` are
    listed in this order; else they are worked out.
    """
    lane_of, clock_of, hang, _ = places(form)
    on_insert, sized = policy.on_insert, form.sized
    enter = make_standings(form).enter

    def rebuild(tables, states, live, adopt, known, spent, now):
        held = tables.held
        for slot in live:
            stream = np.int64(held.at[slot]["stream"])
            hang(tables, stream, slot)
            if not known:
                enter(tables, states[lane_of(stream)], stream, slot, now)
            expiries.enter(tables.expiry, clock_of(stream), held, slot)
            if sized:
                tables.lanes[lane_of(stream), USED] += held.at[slot]["size"]
            else:
                tables.lanes[lane_of(stream), USED] += 1
        for slot in spent:
            orders.push_back(tables.spent, np.int64(held.at[slot]["stream"]), slot)
        for slot in live:
            if adopt:
                on_insert(states[lane_of(held.at[slot]["stream"])], held, slot, now)

    return specialise(rebuild)


@functools.cache
def compile_shrink(policy: Policy, form: Form):
    """Return `shrink(tables, states, live, gone, now)`: evict until every lane fits its budget.

    `live` are the slots in use in the order of birth, `gone` a False for every slot. First what is
    spent is evicted. Then the policy chooses as it would for a newcomer like the oldest tuple; if
    it would reject that one, the oldest itself is evicted.
    """
    lane_of, _, _, _ = places(form)
    remove, spent = _remover(policy, form), make_standings(form).spent
    choose_victim, attributes = policy.choose_victim, form.shape.attributes
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
        if victim == REFUSE:
            victim = oldest
        tables.counts[held.at[victim]["stream"], EVICTED] += 1
        remove(tables, states, victim, now)
        return victim

    def shrink(tables, states, live, gone, now):
        held = tables.held
        room = len(held.at) - 1
        for oldest in live:
            lane = lane_of(held.at[oldest]["stream"])
            while not gone[oldest] and tables.lanes[lane, USED] > tables.lanes[lane, BUDGET]:
                gone[evict(tables, states, lane, oldest, room, now)] = True

    return specialise(shrink)
