"""Linked lists over slots against plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import order as orders
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

PUSH, UNLINK, TO_BACK = range(3)
SLOTS, LISTS = 7, 2


@kernel
def drive(order, ops, out):
    for i in range(len(ops)):
        what, which, slot = ops[i, 0], ops[i, 1], ops[i, 2]
        if what == PUSH:
            orders.push_back(order, which, slot)
        elif what == UNLINK:
            orders.unlink(order, which, slot)
        else:
            orders.move_to_back(order, which, slot)
        for each in range(len(order.ends)):
            out[i, each, 0] = orders.front(order, each)
            out[i, each, 1] = orders.size(order, each)


def walk(order, which, start, step):
    """Return the slots of a list from one of its ends."""
    slots, slot = [], order.ends[which, start]
    while slot != orders.NONE:
        slots.append(int(slot))
        slot = order.link[slot, step]
    return slots


@given(moves=runs(st.tuples(st.integers(0, SLOTS - 1), st.integers(0, LISTS - 1), st.booleans())))
def test_two_lists_over_the_same_slots_behave_as_lists(moves):
    model = [[] for _ in range(LISTS)]
    ops, expected = [], []
    for slot, which, stays in moves:
        where = next((n for n, each in enumerate(model) if slot in each), None)
        if where is None:
            ops.append((PUSH, which, slot))
            model[which].append(slot)
        else:
            ops.append((TO_BACK if stays else UNLINK, where, slot))
            model[where].remove(slot)
            if stays:
                model[where].append(slot)
        expected.append([[each[0] if each else orders.NONE, len(each)] for each in model])
    order = orders.make_order(SLOTS, LISTS)
    out = np.zeros((len(ops), LISTS, 2), np.int64)
    drive(order, np.array(ops, np.int64).reshape(-1, 3), out)
    assert out.tolist() == expected
    for which, slots in enumerate(model):
        assert walk(order, which, orders.FRONT, orders.AFTER) == slots
        assert walk(order, which, orders.BACK, orders.BEFORE) == slots[::-1]
