"""Hash tables from 64-bit keys to entry numbers: open addressing, linear probing, real deletion.

The keys themselves lie with the entries (`keys[entry]`); a bucket holds the entry number and 31
bits of the key's hash, so that a probe seldom touches a key that is not the one sought, and the
home of a displaced bucket can be computed without its key. Deletion shifts buckets back instead of
leaving tombstones: the cost of a look-up never depends on how many keys came and went.

Several tables of one size can be rows of the same array; a table is named by its row.

A large memory is a chain of cache misses per arrival. The first of them, the key's bucket, is known
many arrivals ahead: `announce` asks the processor to fetch it, and `peek` tells where the next ones
will be. Without the JIT fetching does nothing.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

from .jit import jit, kernel
from .pages import full

EMPTY = np.int64(-1)
SMALL = 16_384  # entries
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads consecutive keys
U33 = np.uint64(33)
LOW = np.int64(0xFFFFFFFF)
READ, KEEP_CLOSE, DATA = 0, 3, 1  # arguments of LLVM's prefetch


@intrinsic
def _fetch(typing_context, array, row, column):
    """Prefetch `array[row, column]` of a two-dimensional array."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        view = make_array(kind)(context, builder, args[0])
        place = [
            context.cast(builder, value, given, types.intp)
            for value, given in zip(args[1:], signature.args[1:], strict=True)
        ]
        item = cgutils.get_item_pointer(context, builder, kind, view, place, wraparound=False)
        word = ir.IntType(32)
        pointer = builder.bitcast(item, cgutils.voidptr_t)
        shape = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        name = "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, shape, name)
        builder.call(function, [pointer, word(READ), word(KEEP_CLOSE), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, row, column), codegen


def _nothing(array, row, column):
    """Do nothing: for plain Python, which cannot prefetch."""


def _fetch_one(array, row, column):
    _fetch(array, row, column)  # type: ignore[call-arg]


fetch: Any = _nothing if config.DISABLE_JIT else jit(_fetch_one)
fetch.plain = _nothing


def make_buckets(
    entries: int, tables: int = 1, roomy: bool = False, tight: bool = False
) -> np.ndarray:
    """Return empty tables for `entries` keys, at most half full: int64[tables, power of two].

    A `tight` one is at most three quarters full.

    A `roomy` small table is kept nearly empty, so that the first probe decides and its branch is
    predicted: more than twice as fast where most keys are not found.
    """
    wanted = entries * (8 if roomy and entries <= SMALL else 2)
    if tight:
        wanted = entries + entries // 3 + 1
    return full((tables, max(8, 1 << (wanted - 1).bit_length())), EMPTY, np.int64)


@jit
def _print(key):
    """Return the upper 31 bits of the hash of `key`: a bucket is never negative."""
    word = np.uint64(key)
    return np.int64(((word ^ (word >> U33)) * MULTIPLIER) >> U33)


@jit
def find(buckets, table, keys, key):
    """Return the entry of `key`, or -1."""
    mask = buckets.shape[1] - 1
    sought = _print(key)
    place = sought & mask
    while True:
        bucket = buckets[table, place]
        if bucket == EMPTY:
            return -1
        if bucket >> 32 == sought:
            entry = bucket & LOW
            if keys[entry] == key:
                return entry
        place = (place + 1) & mask


@jit
def announce(buckets, table, key):
    """Prefetch the bucket of a key that will be looked for soon."""
    fetch(buckets, table, _print(key) & (buckets.shape[1] - 1))


@jit
def peek(buckets, table, key):
    """Return the entry in the home bucket of a key, most likely its own, or -1."""
    sought = _print(key)
    bucket = buckets[table, sought & (buckets.shape[1] - 1)]
    return bucket & LOW if bucket >> 32 == sought else EMPTY


@jit
def add(buckets, table, key, entry):
    """Enter a key that is not in the table."""
    _put(buckets, table, (_print(key) << 32) | entry)


@jit
def _put(buckets, table, bucket):
    mask = buckets.shape[1] - 1
    place = (bucket >> 32) & mask
    while buckets[table, place] != EMPTY:
        place = (place + 1) & mask
    buckets[table, place] = bucket


@jit
def erase(buckets, table, key, entry):
    """Take a key that is in the table out of it."""
    mask = buckets.shape[1] - 1
    gone = (_print(key) << 32) | entry
    hole = (gone >> 32) & mask
    while buckets[table, hole] != gone:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        bucket = buckets[table, place]
        if bucket == EMPTY:
            break
        home = (bucket >> 32) & mask
        # A bucket may move back into the hole unless its home lies cyclically after the hole.
        if (place - home) & mask >= (place - hole) & mask:
            buckets[table, hole] = bucket
            hole = place
    buckets[table, hole] = EMPTY


@kernel
def rehash(old, new):
    """Move every bucket of `old` into the larger, empty tables `new`."""
    for table in range(old.shape[0]):
        for place in range(old.shape[1]):
            if old[table, place] != EMPTY:
                _put(new, table, old[table, place])


@kernel
def fill(buckets, table, keys, entries):
    """Enter many keys at once."""
    for i in range(len(keys)):
        add(buckets, table, keys[i], entries[i])


@kernel
def seek(buckets, table, keys, key):
    """Return the entry of `key`, or -1: `find` for code that is not compiled."""
    return find(buckets, table, keys, key)
