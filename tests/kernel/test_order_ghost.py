"""The set that forgets its oldest, against a list."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import order as orders
from penstock.kernel.jit import kernel
from penstock.kernel.order import AFTER, FRONT
from tests.kernel.draws import runs

KEYS = [0, 1, 2, 3, -1, 2**63 - 1, -(2**63)]


@kernel
def drive(ghost, keys, remembers, known):
    for i in range(len(keys)):
        if remembers[i]:
            orders.remember(ghost, keys[i])
        else:
            known[i] = orders.forget(ghost, keys[i])


@given(
    moves=runs(st.tuples(st.sampled_from(KEYS), st.integers(0, 2))),
    entries=st.integers(1, 5),
)
def test_remembers_the_latest_keys_only(moves, entries):
    model, expected = [], []
    for key, what in moves:
        expected.append(not what and key in model)
        if key in model:
            model.remove(key)
        if what:  # two out of three times
            model = [*model, key][-entries:]
    ghost = orders.make_ghost(entries)
    known = np.zeros(len(moves), bool)
    keys = np.array([key for key, _ in moves], np.int64)
    drive(ghost, keys, np.array([what > 0 for _, what in moves], bool), known)
    assert known.tolist() == expected
    remembered, entry = [], ghost.order.ends[0, FRONT]
    while entry >= 0:
        remembered.append(int(ghost.key[entry]))
        entry = ghost.order.link[entry, AFTER]
    assert remembered == model
    assert ghost.unused[0] == entries - len(model)


def test_to_remember_again_is_to_be_young_again():
    # 1 2 1 3 in room for two: the second 1 makes 2 the oldest
    ghost, known = orders.make_ghost(2), np.zeros(6, bool)
    does = np.array([True, True, True, True, False, False])
    drive(ghost, np.array([1, 2, 1, 3, 2, 1]), does, known)
    assert known.tolist() == [False, False, False, False, False, True]


@kernel
def shrunk(ghost, most):
    orders.shrink(ghost, most)


def test_shrinking_drops_the_oldest():
    ghost, known = orders.make_ghost(4), np.zeros(4, bool)
    drive(ghost, np.array([1, 2, 3, 4]), np.ones(4, bool), known)
    shrunk(ghost, 4)
    shrunk(ghost, 2)
    drive(ghost, np.array([1, 2, 3, 4]), np.zeros(4, bool), known)
    assert known.tolist() == [False, False, True, True]
    assert ghost.unused[0] == 4
