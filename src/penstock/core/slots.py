"""The held tuples, one slot each.

The last slot is the waiting room: the newcomer is written there before anybody decides about it, so
a policy reads a newcomer exactly as it reads a held tuple.

All that belongs to a tuple lies in one record, also its keys and its places in the index: whoever
looks at one of these mostly looks at several, and in the plain join a record is exactly one cache
line. In a large memory cache misses are most of the time that an arrival takes.
"""

from typing import NamedTuple

import numpy as np

from .pages import zeros

FOREVER = np.iinfo(np.int64).max  # the deadline of a tuple that never dies of age
LINE = 64  # bytes in a cache line
CHAIN = np.dtype([("entry", np.int32), ("newer", np.int32), ("older", np.int32)])


def tuple_type(attributes: int, legs: int, sized: bool) -> np.dtype:
    """Return the type of a held tuple."""
    fields: list[tuple] = [
        ("time", np.int64),  # when it arrived, or from when it is valid
        ("deadline", np.int64),  # the last time at which it can match, or FOREVER
        ("row", np.int64),  # which row of the input it is
        ("born", np.int64),  # how many tuples were kept before it
        ("key", np.int64, (attributes,)),
        ("chain", np.int32, (3 * max(1, legs),)),  # a CHAIN per leg: how it hangs in the index
        ("before", np.int32),  # its neighbours in the queue of deadlines
        ("after", np.int32),
    ]
    if sized:
        fields.append(("size", np.int32))  # in bytes
    small = [("stream", np.int8), ("matched", np.int8)]  # matched: whether it has had a result
    return np.dtype([*fields, *small], align=True)


class Held(NamedTuple):
    """The held tuples by slot; the last row is the waiting room."""

    key: np.ndarray  # int64[capacity + 1, attributes]: a view of the keys in the records
    at: np.ndarray  # tuple_type[capacity + 1]
    standing: np.ndarray  # uint8[capacity + 1, legs]: see gains; empty with the goal of pairs


def make_held(
    capacity: int, attributes: int, legs: int = 1, sized: bool = False, standings: bool = False
) -> Held:
    """Return room for `capacity` tuples and the newcomer."""
    kind = tuple_type(attributes, legs, sized)
    memory = zeros((capacity + 1) * kind.itemsize + LINE, np.uint8)
    skip = -memory.ctypes.data % LINE  # records begin where cache lines begin
    at = memory[skip : skip + (capacity + 1) * kind.itemsize].view(kind)
    return Held(at["key"], at, zeros((capacity + 1 if standings else 0, legs), np.uint8))


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
    """Return how the tuples hang in the index, as a view: CHAIN[capacity + 1, legs]."""
    field = held.at["chain"]
    shape, strides = (len(field), field.shape[1] // 3), (field.strides[0], CHAIN.itemsize)
    start = held.at.dtype.fields["chain"][1]  # type: ignore[index]
    return np.ndarray(shape, CHAIN, held.at, start, strides)
