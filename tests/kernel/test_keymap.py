"""The hash tables against dictionaries, with keys made to collide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import keymap
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

ADD, ERASE = range(2)
TABLES, ENTRIES, WIDTH = 2, 8, 16  # half full at most, as the tightest of tables


def key_with(upper, lower):
    """Return the key whose hash has these upper 31 bits and lower 33: the hash run backwards."""
    word = ((upper << 33) | lower) * pow(int(keymap.MULTIPLIER), -1, 2**64) % 2**64
    word ^= word >> 33
    return word - 2**64 if word >= 2**63 else word


# Homes at the end of the table and round its corner; two keys with the same upper bits each.
CROWD = [key_with(upper, lower) for upper in (14, 15, 0, 1, 14 + 16) for lower in (0, 1)]
POOL = [*CROWD, 0, 1, -1, -2, 2**63 - 1, -(2**63), 2**32, -(2**32)]


@kernel
def drive(buckets, keys, ops, pool, out):
    """Add or erase; then look up every key of the pool in every table."""
    for i in range(len(ops)):
        what, table, key, entry = ops[i, 0], ops[i, 1], ops[i, 2], ops[i, 3]
        if what == ADD:
            keys[entry] = key
            keymap.add(buckets, table, key, entry)
        else:
            keymap.erase(buckets, table, key, entry)
        for each in range(len(buckets)):
            for j in range(len(pool)):
                out[i, each, j] = keymap.find(buckets, each, keys, pool[j])


@kernel
def peek(buckets, key):
    return keymap.peek(buckets, 0, key)


@st.composite
def operations(draw):
    """Draw (operations, for each of them the entry of every key of the pool, by table)."""
    model = [{} for _ in range(TABLES)]
    free = list(range(ENTRIES))
    ops, expected = [], []
    keys = st.tuples(st.integers(0, TABLES - 1), st.sampled_from(POOL), st.integers(0, 99))
    for table, key, pick in draw(runs(keys)):
        if key in model[table]:
            free.append(model[table].pop(key))
            ops.append((ERASE, table, key, free[-1]))
        elif free:
            model[table][key] = free.pop(pick % len(free))
            ops.append((ADD, table, key, model[table][key]))
        else:
            continue
        expected.append([[known.get(key, -1) for key in POOL] for known in model])
    return ops, expected, model


def narrow(tables=1):
    return np.full((tables, WIDTH), keymap.EMPTY)


def run(ops):
    buckets, keys = narrow(TABLES), np.zeros(ENTRIES, np.int64)
    out = np.zeros((len(ops), TABLES, len(POOL)), np.int64)
    drive(buckets, keys, np.array(ops, np.int64).reshape(-1, 4), np.array(POOL), out)
    return buckets, keys, out.tolist()


@given(drawn=operations())
def test_finds_what_a_dictionary_finds(drawn):
    ops, expected, model = drawn
    buckets, _, found = run(ops)
    assert found == expected
    filled = (buckets != keymap.EMPTY).sum(axis=1)
    assert filled.tolist() == [len(known) for known in model]


@given(drawn=operations(), entries=st.integers(ENTRIES, 40))
def test_a_larger_table_finds_the_same(drawn, entries):
    ops, _, model = drawn
    buckets, keys, _ = run(ops)
    larger = keymap.make_buckets(entries, TABLES)
    keymap.rehash(buckets, larger)
    for table, known in enumerate(model):
        found = [keymap.seek(larger, table, keys, np.int64(key)) for key in POOL]
        assert found == [known.get(key, -1) for key in POOL]
    assert (larger != keymap.EMPTY).sum() == sum(map(len, model))


@given(chosen=st.lists(st.sampled_from(POOL), unique=True, max_size=ENTRIES))
def test_filled_at_once_it_finds_every_key(chosen):
    buckets, keys = narrow(), np.array(chosen, np.int64)
    keymap.fill(buckets, 0, keys, np.arange(len(keys)))
    found = [keymap.seek(buckets, 0, keys, np.int64(key)) for key in POOL]
    assert found == [chosen.index(key) if key in chosen else -1 for key in POOL]


@given(key=st.sampled_from(POOL), other=st.sampled_from(POOL))
def test_a_peek_finds_a_key_that_is_at_home(key, other):
    buckets = narrow()
    assert peek(buckets, np.int64(key)) == -1
    keymap.fill(buckets, 0, np.array([key]), np.array([5]))
    assert peek(buckets, np.int64(key)) == 5
    assert peek(buckets, np.int64(other)) in (-1, 5)


def test_the_crowd_does_collide():
    buckets, keys = narrow(), np.array(CROWD[:8])
    keymap.fill(buckets, 0, keys, np.arange(8))
    # 14 14 15 15 0 0 1 1: each begins where the one before it ended, round the corner
    assert (buckets[0] >> 32)[[14, 15, 0, 1, 2, 3, 4, 5]].tolist() == [14, 14, 15, 15, 0, 0, 1, 1]


@pytest.mark.parametrize("entries", [1, 4, 5, 8, 9, 1000, 16_384, 16_385, 100_000])
def test_tables_are_powers_of_two_and_at_most_half_full(entries):
    tables, width = keymap.make_buckets(entries, 3).shape
    assert tables == 3
    assert width >= 2 * entries
    assert width & (width - 1) == 0


@pytest.mark.parametrize("entries", [1, 6, 7, 12, 13, 1000, 12_288, 12_289])
def test_tight_tables_are_at_most_three_quarters_full(entries):
    width = keymap.make_buckets(entries, tight=True).shape[1]
    assert 3 * width >= 4 * entries
    assert width & (width - 1) == 0
    assert width <= keymap.make_buckets(entries).shape[1]
