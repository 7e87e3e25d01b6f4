"""Caches beside libCacheSim, which other people wrote, on the same references.

Where both are defined the same, every single reference must agree. Where they are not, hits may
differ within bounds, for reasons that docs/policies.md tells.
"""

import numpy as np
import pytest

from penstock.engine import Join, Lookup
from penstock.simulate.optimum import lfd
from tests.marks import some
from tests.recount import recount

libcachesim = pytest.importorskip(
    "libcachesim", reason="libcachesim is not installed: nothing to compare with"
)

LENGTH = 6000
KEYS = 2000
NEVER = np.iinfo(np.int64).max


def skewed(random, length=LENGTH):
    """References by Zipf's law, the popular keys anywhere among the others."""
    weights = np.cumsum(np.arange(1, KEYS + 1) ** -0.9)
    ranks = np.searchsorted(weights, random.random(length) * weights[-1])
    return random.permutation(KEYS)[ranks]


def shifting(random, length=LENGTH):
    """Zipf's law over keys that are others every quarter, to a part."""
    return (skewed(random, length) // 4 + np.arange(length) * 4 // length * 250) % KEYS


def mixed(random, length=LENGTH):
    """A scan that comes back among skewed references."""
    scanned = KEYS + np.arange(length) % 1500
    return np.where(random.random(length) < 0.3, scanned, skewed(random, length))


def phases(random, length=LENGTH):
    """Two loops by turns, one that fits and one that does not."""
    at = np.arange(length)
    return np.where(at * 6 // length % 2 == 0, at % 150, KEYS + at % 700)


TRACES = {
    "loop": lambda random, length=LENGTH: np.arange(length) % 300,
    "scan": lambda random, length=LENGTH: np.arange(length) % 2500,
    "skewed": skewed,
    "shifting": shifting,
    "mixed": mixed,
    "phases": phases,
    "uniform": lambda random, length=LENGTH: random.integers(0, 600, length),
}
SIZES = (20, 57, 282, 1000)  # libCacheSim's S3-FIFO holds nothing below 20, W-TinyLFU below 100

# The same definition in both, by the names and parameters that mean it.
EXACT = {
    "fifo": ("FIFO", {}),
    "lru": ("LRU", {}),
    "sieve": ("Sieve", {}),
    "lfu:perfect=no": ("LFU", {}),
    "clock": ("Clock", {"n_bit_counter": 30}),  # scores without a limit
    "s3fifo": ("S3FIFO", {}),
    "s3fifo:small=0.25": ("S3FIFO", {"small_size_ratio": 0.25, "ghost_size_ratio": 0.75}),
}

# Other definitions: the least share of libCacheSim's hits that ours finds, and where it is lower.
DIFFERENT = {
    "lfu": ("LFU", 0.97, {}),
    "clock": ("Clock", 0.97, {}),
    "wtinylfu": ("WTinyLFU", 0.98, {"scan": 0.3}),
    "lhd": ("LHD", 0.95, {"loop": 0.55}),
}


def references(trace, length=LENGTH):
    return TRACES[trace](np.random.default_rng(7), length).astype(np.int64)


def coming(keys):
    """Return when each key is referenced next."""
    after, seen = np.full(len(keys), NEVER), {}
    for at in range(len(keys) - 1, -1, -1):
        after[at] = seen.get(keys[at], NEVER)
        seen[keys[at]] = at
    return after


def theirs(name, keys, size, **params):
    """Return which references libCacheSim finds."""
    cache = getattr(libcachesim, name)(cache_size=size, hashpower=14, **params)
    return [
        cache.get(libcachesim.Request(obj_id=key + 1, obj_size=1, next_access_vtime=after))
        for key, after in zip(keys.tolist(), coming(keys.tolist()).tolist(), strict=True)
    ]


@pytest.mark.parametrize("trace", some(TRACES, ("loop", "mixed", "skewed")))
@pytest.mark.parametrize("ours", EXACT)
def test_agrees_reference_by_reference(ours, trace):
    keys = references(trace)
    name, params = EXACT[ours]
    for size in SIZES:
        cache = Lookup(ours, size)
        assert cache.push(keys).hit.tolist() == theirs(name, keys, size, **params), size
        recount(cache)


@pytest.mark.parametrize("trace", ["loop", "mixed"])
@pytest.mark.parametrize("ours", EXACT)
def test_a_join_of_rows_with_references_agrees_too(ours, trace):
    # Side 0 are the rows of a relation, in a memory of their own; side 1 the references, in one of
    # a single tuple. Where libCacheSim misses, the reference is followed by its row.
    keys, size = references(trace), 57
    name, params = EXACT[ours]
    found = np.array(theirs(name, keys, size, **params))
    times = np.where(found, 1, 2)
    side = np.ones(times.sum(), np.int64)
    side[np.cumsum(times)[~found] - 1] = 0
    join = Join(ours, size + 1, layout="split", shares=[size / (size + 1), 1 / (size + 1)])
    rows = join.push(side, np.repeat(keys, times), np.arange(len(side))).rows
    matched = np.zeros(len(side), bool)
    matched[rows[rows[:, 0] < rows[:, 1], 1]] = True  # not the pairs of a row and its own reference
    assert matched[side == 1].tolist() == found.tolist()


@pytest.mark.parametrize("trace", some(TRACES, ("loop", "skewed")))
@pytest.mark.parametrize("ours", DIFFERENT)
def test_finds_as_much_where_the_definitions_differ(ours, trace):
    keys = references(trace, 20_000)
    name, least, exceptions = DIFFERENT[ours]
    cache = Lookup(ours, 200)
    cache.push(keys, emit=False)
    assert cache.hits >= exceptions.get(trace, least) * sum(theirs(name, keys, 200))


@pytest.mark.parametrize("ours", ["rand", "rand:admit=always"])
@pytest.mark.parametrize("trace", some(TRACES, ("loop", "skewed")))
def test_random_eviction_finds_about_as_much(ours, trace):
    keys = references(trace, 20_000)
    cache = Lookup(ours, 200)
    cache.push(keys, emit=False)
    assert cache.hits == pytest.approx(sum(theirs("Random", keys, 200)), abs=0.03 * len(keys))


@pytest.mark.parametrize("trace", some(TRACES, ("loop", "mixed", "skewed")))
def test_hindsight_is_beladys_with_the_choice_to_leave_a_row_out(trace):
    # Belady's takes every newcomer in. With one place more, which always holds the newcomer, it
    # can do all that hindsight does.
    keys = references(trace)
    for size in SIZES:
        found = lfd(keys, size).sum()
        assert sum(theirs("Belady", keys, size)) <= found, size
        assert found <= sum(theirs("Belady", keys, size + 1)), size
