"""HIST: worked cases, the twin on streams that move, the form it finds, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams
from tests.compare import assert_same_join, assert_same_lookup, cut
from tests.marks import plain

FORMS = st.sampled_from(["trend", "walk", "auto"])
PARAMS = st.fixed_dictionaries(
    {
        "form": FORMS,
        "buckets": st.integers(2, 6),
        "every": st.sampled_from([1, 7, 30]),
        "decay": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
        "smoothing": st.sampled_from([0.02, 0.3, 1.0]),
        "watch": st.sampled_from([1, 5, 40]),
        "admit": st.sampled_from(["always", "compete"]),
    }
)


def moving(seed, n, walk, scale=1):
    """Return n values about a trend, or of a walk."""
    noise = np.random.default_rng(seed).integers(-3, 4, n)
    values = np.cumsum(noise) if walk else noise + np.arange(n) // 2
    return scale * values


def stepwise(seed, n, walk, scale=1):
    """Return n rows of each of two moving streams, as the naive engine takes them."""
    sides = [moving(seed + side, n, walk, scale) for side in range(2)]
    return [
        {"stream": side, "keys": (int(sides[side][time]),), "time": time}
        for time in range(n)
        for side in range(2)
    ]


def test_before_anything_is_known_the_oldest_is_evicted():
    join = Join("hist", 2)
    join.push(side=[0, 1, 0, 1], key=[1, 9, 5, 7], time=[0, 1, 2, 3])
    assert join.held_rows.tolist() == [2, 3]


@plain
def test_a_late_row_is_rejected():
    # Side 1 is where side 0 was five steps ago, so its tuples never match and those of side 0
    # always do; the oldest five of six are waited for. Half a memory for each would match nothing.
    n, lag = 400, 5
    step = np.arange(n)
    join = Join("hist", 6, together=True)
    key = np.column_stack([step, step - lag]).ravel()
    found = join.push(np.tile([0, 1], n), key, np.repeat(step, 2)).rows
    last = found[found[:, 1] >= 2 * (n - 100)]
    assert len(last) == 100
    assert (
        Join("fifo", 6, together=True)
        .push(np.tile([0, 1], n), key, np.repeat(step, 2))
        .rows.tolist()
        == []
    )


def test_a_cache_keeps_what_is_near_a_walk():
    keys = np.cumsum(np.random.default_rng(4).choice([-1, 1], 6000))
    caches = {name: Lookup(name, 10) for name in ("hist", "hist:form=walk", "rand")}
    for cache in caches.values():
        cache.push(keys)
    # what is farthest from the last reference is evicted: the best there is (HEEB paper, section
    # 7.5)
    held, best = [], 0
    for key in keys.tolist():
        if key in held:
            best += 1
        else:
            held = sorted([*held, key], key=lambda v: abs(v - key))[:10]
    hits = {name: cache.hits for name, cache in caches.items()}
    assert hits["rand"] < hits["hist"]
    assert 0.9 * best < hits["hist"] < 1.02 * best
    assert 0.9 * best < hits["hist:form=walk"] < 1.02 * best


@pytest.mark.parametrize("walk", [False, True])
def test_the_form_is_found_out(walk):
    join = Join("hist", 5)
    n = 600
    key = np.column_stack([moving(7, n, walk), moving(8, n, not walk)]).ravel()
    join.push(np.tile([0, 1], n), key, np.arange(2 * n))
    (state,) = join._states
    assert state.positions.walks.tolist() == [walk, not walk]


@given(
    data=st.data(),
    seed=st.integers(0, 999),
    walk=st.booleans(),
    params=PARAMS,
    budget=st.integers(1, 9),
    together=st.booleans(),
)
def test_joins_as_its_twin(data, seed, walk, params, budget, together):
    rows = stepwise(seed, 150, walk)
    batches = [rows] if together else data.draw(cut(rows))
    assert_same_join(
        "hist", batches, budget, params=params, restore=True, together=together, seed=seed
    )


@given(data=st.data(), seed=st.integers(0, 999), walk=st.booleans(), params=PARAMS)
def test_caches_as_its_twin(data, seed, walk, params):
    keys = moving(seed, 300, walk).tolist()
    budget = data.draw(st.integers(1, 9))
    assert_same_lookup("hist", data.draw(cut(keys)), budget, params=params, restore=True, seed=seed)


@pytest.mark.parametrize("admit", ["always", "compete"])
def test_samples_a_large_memory_as_its_twin(admit):
    rows = stepwise(3, 700, walk=False)
    join = assert_same_join("hist", [rows], 600, params={"admit": admit, "watch": 8}, seed=3)
    assert join.held == 600


def test_keys_may_be_as_far_apart_as_they_like():
    rows = stepwise(5, 200, walk=True, scale=2**52)
    assert_same_join("hist", [rows], 6, params={"buckets": 3, "every": 5})


def test_many_arrivals_of_one_stream_only():
    # nothing can be measured from a stream that has not begun
    rows = [{"stream": 0, "keys": (i % 7,), "time": i} for i in range(300)]
    rows += [{"stream": 1, "keys": (i % 7,), "time": 300 + i} for i in range(300)]
    assert_same_join("hist", [rows], 4)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("form=wave", "'form' of policy 'hist' must be one of trend, walk, auto, got 'wave'"),
        ("admit=yes", "'admit' of policy 'hist' must be one of always, compete, got 'yes'"),
        ("buckets=1", "'buckets' of policy 'hist' must be from 2 to 1024, got 1"),
        ("buckets=1025", "'buckets' of policy 'hist' must be from 2 to 1024, got 1025"),
        ("every=0", "'every' of policy 'hist' must be at least 1, got 0"),
        ("decay=-0.1", "'decay' of policy 'hist' must be from 0 to 1, got -0.1"),
        ("decay=1.1", "'decay' of policy 'hist' must be from 0 to 1, got 1.1"),
        ("smoothing=0", "'smoothing' of policy 'hist' must be from 1e-06 to 1, got 0.0"),
        ("smoothing=1.5", "'smoothing' of policy 'hist' must be from 1e-06 to 1, got 1.5"),
        ("watch=0", "'watch' of policy 'hist' must be from 1 to 1024, got 0"),
    ],
)
def test_bad_parameters(text, complaint):
    with pytest.raises(BadInput, match=f"^parameter {re.escape(complaint)}$"):
        Join(f"hist:{text}", 4)


@pytest.mark.parametrize("text", ["buckets=2", "every=1", "decay=0", "decay=1", "smoothing=1"])
def test_the_bounds_themselves_are_good(text):
    assert Join(f"hist:{text}", 4).held == 0


def test_is_for_one_join_of_two_streams():
    with pytest.raises(BadInput, match=r"^policy 'hist' is defined for one join of two streams"):
        Join("hist", 4, joins=all_streams(2, 2))
