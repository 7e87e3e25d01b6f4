"""Which bucket a key belongs to, and which label makes Spark put a bucket where we want it.

Spark hashes the column that it groups by once more, so that buckets called 0 and 1 may well land
in the same partition while another stays empty. Labels are chosen so that neighbouring buckets
land in neighbouring partitions, all round. The first label is always 0, so that a restart with
other settings finds some state that tells of the earlier ones.
"""

import numpy as np

from ...kernel.jit import jit, kernel
from ...kernel.rng import hashed, mix

SALT = np.uint64(0x5DEECE66D)  # buckets must not follow the bits that hash tables use


@jit
def _bucket(key, buckets):
    return np.int64((mix(np.uint64(key) ^ SALT) >> np.uint64(32)) % np.uint64(buckets))


@kernel
def sort_by_bucket(keys, buckets, bucket, start, order):
    """Fill `order` with the rows bucket by bucket, and `start` with where each bucket begins.

    `bucket` is int64[n] scratch, `start` int64[buckets + 1] of zeros. A counting sort, so rows of
    a bucket stay in the order in which they came.
    """
    for i in range(len(keys)):
        bucket[i] = _bucket(keys[i], buckets)
        start[bucket[i] + 1] += 1
    for b in range(buckets):
        start[b + 1] += start[b]
    for i in range(len(keys)):
        order[start[bucket[i]]] = i
        start[bucket[i]] += 1
    for b in range(buckets, 0, -1):  # each start has moved to the next one's place
        start[b] = start[b - 1]
    start[0] = 0


def bucket_of(keys: np.ndarray, buckets: int) -> np.ndarray:
    """Return the bucket of each key."""
    return ((hashed(keys, SALT) >> np.uint64(32)) % np.uint64(buckets)).astype(np.int64)


def labels(buckets: int, partitions: int) -> list[int]:
    """Return a label per bucket; each bucket lands in the partition after the last one's.

    >>> labels(2, 2)
    [0, 2]
    """
    first = murmur3(0) % partitions
    found: list[list[int]] = [[] for _ in range(partitions)]
    label, missing = 0, buckets
    needed = [len(range(part, buckets, partitions)) for part in range(partitions)]
    while missing:
        part = (murmur3(label) - first) % partitions
        if len(found[part]) < needed[part]:
            found[part].append(label)
            missing -= 1
        label += 1
    return [found[i % partitions][i // partitions] for i in range(buckets)]


def murmur3(number: int, seed: int = 42) -> int:
    """Return Spark's hash of an int column, as a signed 32-bit number.

    >>> murmur3(1)
    -559580957
    """
    word = _rotate(number * 0xCC9E2D51, 15) * 0x1B873593
    state = _rotate(seed ^ (word & 0xFFFFFFFF), 13) * 5 + 0xE6546B64
    state = (state & 0xFFFFFFFF) ^ 4
    state = (state ^ (state >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >= 1 << 31 else state


def _rotate(word: int, by: int) -> int:
    word &= 0xFFFFFFFF
    return ((word << by) | (word >> (32 - by))) & 0xFFFFFFFF
