"""The held tuples, one slot each; which of them have a key; and which expire next.

The last slot is free for the newcomer, which is written there before anything is decided about it,
so a policy reads a newcomer exactly as it reads a held tuple. All that belongs to a tuple lies
in one record, also its keys and its places in the index: code that reads one of these mostly reads
several, and in the plain join a record is exactly one cache line. In a large memory cache misses
are most of the time that an arrival takes.

The index holds one list of slots per (join, side, key). An entry stands for one key of one join and
holds the newest slot of every side; each slot is chained to the next older one. An entry exists
exactly as long as a tuple is held under it. Where the oldest slot of a side is asked for, the index
knows it too (`tail`).

Tuples that come in the order of their deadlines wait for their expiry in a queue: O(1) to enter,
leave and expire. A tuple whose deadline lies before that of the last in the queue goes to a heap:
O(log of those late). A tuple that never expires is in neither. Equal deadlines expire in the order
of arrival, so what happens depends on the tuples alone and not on where they waited.
"""

from typing import NamedTuple

import numpy as np

from . import heap, keymap
from .jit import jit
from .pages import copied, full, make_stack, pop, push, zeros

FOREVER = np.iinfo(np.int64).max  # the deadline of a tuple that never expires
LINE = 64  # bytes in a cache line
CHAIN = np.dtype([("entry", np.int32), ("newer", np.int32), ("older", np.int32)])
NONE = -1
KEY, HEAD, HELD = 0, 1, -1  # columns of Index.entry: the key, newest slot by side, slots in all
FIRST, LAST, SIZE = 0, 1, 2  # columns of Expiry.ends


def tuple_type(attributes: int, legs: int, sized: bool) -> np.dtype:
    """Return the type of a held tuple."""
    fields: list[tuple] = [
        ("time", np.int64),  # when it arrived, or from when it is valid
        ("deadline", np.int64),  # the last time at which it can match, or FOREVER
        ("row", np.int64),  # which row of the input it is
        ("born", np.int64),  # how many tuples were kept before it
        ("key", np.int64, (attributes,)),
        ("chain", np.int32, (3 * max(1, legs),)),  # a CHAIN per leg: its places in the index
        ("before", np.int32),  # its neighbours in the queue of deadlines
        ("after", np.int32),
    ]
    if sized:
        fields.append(("size", np.int32))  # in bytes
    small = [("stream", np.int8), ("matched", np.int8)]  # matched: whether it has had a result
    return np.dtype([*fields, *small], align=True)


class Held(NamedTuple):
    """The held tuples by slot; the last row is for the newcomer."""

    key: np.ndarray  # int64[capacity + 1, attributes]: a view of the keys in the records
    at: np.ndarray  # tuple_type[capacity + 1]
    standing: np.ndarray  # uint8[capacity + 1, legs]: see gains; empty with the goal of pairs
    worth: np.ndarray  # float64[capacity + 1]: what a hit is worth for each unit of the budget
    # that the row takes; empty in joins, and in caches whose rows are all alike


def make_held(
    capacity: int,
    attributes: int,
    legs: int = 1,
    sized: bool = False,
    standings: bool = False,
    weighed: bool = False,
) -> Held:
    """Return room for `capacity` tuples and the newcomer."""
    kind = tuple_type(attributes, legs, sized)
    memory = zeros((capacity + 1) * kind.itemsize + LINE, np.uint8)
    skip = -memory.ctypes.data % LINE  # records begin where cache lines begin
    at = memory[skip : skip + (capacity + 1) * kind.itemsize].view(kind)
    standing = zeros((capacity + 1 if standings else 0, legs), np.uint8)
    return Held(at["key"], at, standing, zeros(capacity + 1 if weighed else 0))


def grow_held(old: Held, capacity: int) -> Held:
    """Return the tuples with room for `capacity` of them."""
    _, attributes = old.key.shape
    legs = old.at["chain"].shape[1] // 3
    sized, standings = "size" in (old.at.dtype.names or ()), len(old.standing) > 0
    new = make_held(capacity, attributes, legs, sized, standings)
    new.at[: len(old.at)] = old.at
    new.standing[: len(old.standing)] = old.standing
    return new


def chains(held: Held) -> np.ndarray:
    """Return the places of the tuples in the index, as a view: CHAIN[capacity + 1, legs]."""
    field = held.at["chain"]
    shape, strides = (len(field), field.shape[1] // 3), (field.strides[0], CHAIN.itemsize)
    start = held.at.dtype.fields["chain"][1]  # type: ignore[index]
    return np.ndarray(shape, CHAIN, held.at, start, strides)


class Index(NamedTuple):
    """Entries by number, and how slots are chained to them."""

    buckets: np.ndarray  # int64[joins, power of two]: see keymap
    entry: np.ndarray  # int64[entries, sides + 2]: KEY, then a HEAD per side or NONE, then HELD
    unused: np.ndarray  # int32[entries + 1]: a stack of free entries
    chain: np.ndarray  # CHAIN[slots, legs]: how a slot is chained to its entry
    tail: np.ndarray  # int32[entries, sides]: the oldest slot by side, or NONE; or empty


def make_index(
    capacity: int,
    joins: int,
    sides: int,
    legs: int,
    chain: np.ndarray,
    tails: bool = False,
) -> Index:
    """Return an index for `capacity` slots, with nothing in it.

    `chain` is where slots keep their places in the lists: with the rest of a tuple.
    """
    entries = capacity * legs
    entry = full((entries, sides + 2), NONE, np.int64)
    entry[:, HELD] = 0
    return Index(
        keymap.make_buckets(entries, joins),
        entry,
        make_stack(0, entries, entries),
        chain,
        full((entries if tails else 0, sides), NONE, np.int32),
    )


@jit
def find(index, join, key):
    """Return the entry of a key, or NONE if nothing is held under it."""
    return keymap.find(index.buckets, join, index.entry[:, KEY], key)


@jit
def head(index, entry, side):
    """Return the newest slot of a side, or NONE."""
    return index.entry[entry, HEAD + side]


@jit
def oldest(index, entry, side):
    """Return the oldest slot of a side, or NONE; only where the index has tails."""
    return np.int64(index.tail[entry, side])


@jit
def still(index, entry, key):
    """Return an entry that a key had a while ago, or NONE if it has been closed since.

    Only where there is one join, and the key was given no other entry.
    """
    if entry != NONE and index.entry[entry, HELD] > 0 and index.entry[entry, KEY] == key:
        return entry
    return np.int64(NONE)


@jit
def link(index, join, side, leg, key, slot):
    """Make `slot` the newest of its side under `key`."""
    link_at(index, find(index, join, key), join, side, leg, key, slot)


@jit
def link_at(index, entry, join, side, leg, key, slot):
    """Do the same where the entry of the key is known, or NONE."""
    if entry == NONE:
        entry = pop(index.unused)
        index.entry[entry, KEY] = key
        keymap.add(index.buckets, join, key, entry)
    older = index.entry[entry, HEAD + side]
    if older != NONE:
        index.chain[older, leg]["newer"] = slot
    elif len(index.tail):
        index.tail[entry, side] = slot
    index.entry[entry, HEAD + side] = slot
    index.entry[entry, HELD] += 1
    index.chain[slot, leg]["entry"] = entry
    index.chain[slot, leg]["newer"] = NONE
    index.chain[slot, leg]["older"] = older


@jit
def unlink(index, join, side, leg, slot):
    """Take `slot` out of its list; the last one out closes the entry."""
    entry = np.int64(index.chain[slot, leg]["entry"])
    newer = index.chain[slot, leg]["newer"]
    older = index.chain[slot, leg]["older"]
    if newer == NONE:
        index.entry[entry, HEAD + side] = older
    else:
        index.chain[newer, leg]["older"] = older
    if older != NONE:
        index.chain[older, leg]["newer"] = newer
    elif len(index.tail):
        index.tail[entry, side] = newer
    index.entry[entry, HELD] -= 1
    if index.entry[entry, HELD] == 0:
        keymap.erase(index.buckets, join, index.entry[entry, KEY], entry)
        push(index.unused, entry)


class Expiry(NamedTuple):
    """One queue per clock (one for all, or one per stream), and a heap of late deadlines."""

    ends: np.ndarray  # int64[clocks, 3]: first and last slot of a queue, and how many wait in it
    late: heap.Heap


def make_expiry(capacity: int, clocks: int, late: int | None = None) -> Expiry:
    """Return empty queues for `capacity` slots, of which `late` fit into the heap; None: all."""
    ends = np.tile(np.array([NONE, NONE, 0], np.int64), (clocks, 1))
    return Expiry(ends, heap.make_heap(capacity, np.int64, late))


def count_late(deadline: np.ndarray, clock: np.ndarray) -> int:
    """Return how many tuples enter the heap if all are queued in this order, with no other.

    >>> count_late(np.array([5, 7, 6, 1, FOREVER, 8]), np.array([0, 0, 0, 1, 0, 0]))
    1
    """
    count = 0
    for each in np.unique(clock):
        mine = deadline[(clock == each) & (deadline != FOREVER)]
        count += int((mine < np.maximum.accumulate(mine)).sum())
    return count


def with_room_for_late(expiry: Expiry, room: int) -> Expiry:
    """Return the queues with a heap for at least so many."""
    node = expiry.late.node
    if room <= len(node):
        return expiry
    return expiry._replace(late=expiry.late._replace(node=copied(node, room)))


@jit
def queue(expiry, clock, held, slot):
    at, ends = held.at, expiry.ends
    deadline = at[slot]["deadline"]
    if deadline == FOREVER:
        return
    last = ends[clock, LAST]
    if last != NONE and at[last]["deadline"] > deadline:
        heap.push(expiry.late, slot, deadline, at[slot]["born"])
        return
    at[slot]["before"] = last
    at[slot]["after"] = NONE
    if last == NONE:
        ends[clock, FIRST] = slot
    else:
        at[last]["after"] = slot
    ends[clock, LAST] = slot
    ends[clock, SIZE] += 1


@jit
def unqueue(expiry, clock, held, slot):
    at, ends = held.at, expiry.ends
    if at[slot]["deadline"] == FOREVER:
        return
    if expiry.late.size[0] > 0 and expiry.late.place[slot] != heap.ABSENT:
        heap.drop(expiry.late, slot)
        return
    before, after = np.int64(at[slot]["before"]), np.int64(at[slot]["after"])
    if before == NONE:
        ends[clock, FIRST] = after
    else:
        at[before]["after"] = after
    if after == NONE:
        ends[clock, LAST] = before
    else:
        at[after]["before"] = before
    ends[clock, SIZE] -= 1


@jit
def next_expired(expiry, clock, held, now):
    """Return the slot with the earliest deadline before `now`, or NONE."""
    at, late = held.at, expiry.late
    first = expiry.ends[clock, FIRST]
    if first != NONE and at[first]["deadline"] >= now:
        first = NONE
    if late.size[0] > 0 and late.node[0]["score"] < now:
        deadline, born = late.node[0]["score"], late.node[0]["stamp"]
        if first == NONE or deadline < at[first]["deadline"]:
            return late.node[0]["slot"]
        if deadline == at[first]["deadline"] and born < at[first]["born"]:
            return late.node[0]["slot"]
    return first
