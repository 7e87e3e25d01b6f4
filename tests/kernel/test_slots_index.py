"""The slots held under a key, against dictionaries of lists."""

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import keymap, slots
from penstock.kernel.jit import kernel
from penstock.kernel.slots import chains, make_held
from tests.kernel.draws import runs

INSERT, UNLINK = range(2)
SLOTS, JOINS, SIDES, LEGS = 6, 2, 3, 2
NO_SLOT = -2
KEYS = [0, 5, -1, -(2**63), 2**63 - 1]


@kernel
def drive(index, ops, newest):
    """After each operation: the newest slot of its side and key; NO_SLOT without an entry."""
    for i in range(len(ops)):
        join, side, leg, key, slot = ops[i, 1], ops[i, 2], ops[i, 3], ops[i, 4], ops[i, 5]
        if ops[i, 0] == INSERT:
            slots.link(index, join, side, leg, key, slot)
        else:
            slots.unlink(index, join, side, leg, slot)
        entry = slots.find(index, join, key)
        newest[i] = slots.head(index, entry, side) if entry != slots.NONE else NO_SLOT


def slots_of(index, entry, side, leg):
    """Return the slots of one side under an entry, newest first; checks the links back as well."""
    found, newer, slot = [], slots.NONE, int(index.entry[entry, slots.HEAD + side])
    while slot != slots.NONE:
        assert index.chain[slot, leg]["newer"] == newer
        assert index.chain[slot, leg]["entry"] == entry
        found.append(slot)
        newer, slot = slot, int(index.chain[slot, leg]["older"])
    return found


@given(
    moves=runs(
        st.tuples(
            st.integers(0, SLOTS - 1),
            st.integers(0, JOINS - 1),
            st.integers(0, SIDES - 1),
            st.sampled_from(KEYS),
        )
    )
)
def test_lists_by_join_side_and_key(moves):
    """Leg 0 is listed in join 0 and leg 1 in join 1, so that a slot may be listed in both."""
    where, lists = {}, defaultdict(list)
    ops, expected = [], []
    for slot, join, side, key in moves:
        if (slot, join) in where:
            side, key = where.pop((slot, join))
            lists[join, side, key].remove(slot)
            ops.append((UNLINK, join, side, join, key, slot))
        else:
            where[slot, join] = side, key
            lists[join, side, key].insert(0, slot)
            ops.append((INSERT, join, side, join, key, slot))
        if any(lists[join, each, key] for each in range(SIDES)):
            expected.append(next(iter(lists[join, side, key]), slots.NONE))
        else:
            expected.append(NO_SLOT)
    chain = chains(make_held(SLOTS, 1, LEGS))
    index = slots.make_index(SLOTS, JOINS, SIDES, LEGS, chain)
    newest = np.zeros(len(ops), np.int64)
    drive(index, np.array(ops, np.int64).reshape(-1, 6), newest)
    assert newest.tolist() == expected
    entries = 0
    for join in range(JOINS):
        for key in KEYS:
            held = [lists[join, side, key] for side in range(SIDES)]
            by_entry = index.entry[:, slots.KEY]
            entry = keymap.seek(index.buckets, join, by_entry, np.int64(key))
            assert (entry == slots.NONE) == (not any(held))
            if entry != slots.NONE:
                entries += 1
                assert [slots_of(index, entry, side, join) for side in range(SIDES)] == held
                assert index.entry[entry, slots.HELD] == sum(map(len, held))
    assert index.unused[0] == SLOTS * LEGS - entries
