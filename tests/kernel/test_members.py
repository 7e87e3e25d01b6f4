"""The dense array of members against the twin: the same members, and in the same places."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import members as sets
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs
from tests.naive.members import Members

SLOTS = 8


@kernel
def drive(members, ops):
    for i in range(len(ops)):
        if ops[i, 0]:
            sets.add(members, ops[i, 1])
        else:
            sets.discard(members, ops[i, 1])


@given(slots=runs(st.integers(0, SLOTS - 1)))
def test_places_are_those_of_the_twin(slots):
    """A slot that is named again leaves, and comes back when named a third time."""
    members, twin = sets.make_members(SLOTS), Members()
    ops = []
    for slot in slots:
        enters = slot not in twin.tuples
        ops.append((enters, slot))
        twin.add(slot) if enters else twin.remove(slot)
    drive(members, np.array(ops, np.int64).reshape(-1, 2))
    assert members.slot[: members.size[0]].tolist() == twin.tuples
    assert [members.place[slot] for slot in twin.tuples] == list(range(len(twin)))


def test_the_last_member_fills_the_gap():
    members = sets.make_members(4)
    drive(members, np.array([(1, 3), (1, 1), (1, 0), (1, 2), (0, 1)]))
    assert members.slot[: members.size[0]].tolist() == [3, 2, 0]
