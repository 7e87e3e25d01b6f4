"""The heap against the minimum of a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import heap as heaps
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

PUSH, CHANGE, DROP = range(3)
SLOTS = 24  # three levels of a heap with four children per node

WHOLE = st.one_of(st.integers(-2, 3), st.sampled_from([-(2**63), 2**63 - 1]))
REAL = st.one_of(st.integers(-2, 3).map(float), st.floats(allow_nan=False))


@kernel
def drive(heap, ops, scores, out, said):
    for i in range(len(ops)):
        what, slot, stamp = ops[i, 0], ops[i, 1], ops[i, 2]
        if what == PUSH:
            heaps.push(heap, slot, scores[i], stamp)
        elif what == CHANGE:
            heaps.change(heap, slot, scores[i], stamp)
        else:
            heaps.drop(heap, slot)
        out[i] = heaps.lowest(heap) if heap.size[0] > 0 else -1
        said[i] = heaps.score_of(heap, slot) if what != DROP else scores[i]


def moves(scores):
    """Draw (slot, whether it goes if it is there, score, stamp)."""
    return runs(st.tuples(st.integers(0, SLOTS - 1), st.booleans(), scores, st.integers(0, 3)))


def plan(drawn):
    """Return operations, their scores, and the lowest after each; at the end all are drained."""
    held, ops, scores, lowest = {}, [], [], []

    def do(what, slot, stamp, score):
        if what == DROP:
            del held[slot]
        else:
            held[slot] = (score, stamp)
        ops.append((what, slot, stamp))
        scores.append(score)
        lowest.append(min(held, key=held.get) if held else -1)

    for number, (slot, goes, score, stamp) in enumerate(drawn):
        unique = (stamp << 10) | number  # stamps need not come in their order
        if slot not in held:
            do(PUSH, slot, unique, score)
        else:
            do(DROP if goes else CHANGE, slot, unique, score)
    while held:
        do(DROP, min(held, key=held.get), 0, 0)
    return ops, scores, lowest


def check(heap, drawn, dtype):
    ops, scores, lowest = plan(drawn)
    out, said = np.zeros(len(ops), np.int64), np.zeros(len(ops), dtype)
    scores = np.array(scores, dtype)
    drive(heap, np.array(ops, np.int64).reshape(-1, 3), scores, out, said)
    assert out.tolist() == lowest
    assert said.tolist() == scores.tolist()
    assert (heap.place == heaps.ABSENT).all()


@given(drawn=moves(REAL))
def test_the_lowest_score_is_on_top_whatever_changes(drawn):
    check(heaps.make_heap(SLOTS), drawn, np.float64)


@given(drawn=moves(WHOLE))
def test_whole_scores_are_compared_as_such(drawn):
    check(heaps.make_heap(SLOTS, np.int64), drawn, np.int64)


@pytest.mark.parametrize("order", [range(SLOTS), range(SLOTS - 1, -1, -1)])
def test_equal_scores_are_ordered_by_stamp(order):
    check(heaps.make_heap(SLOTS), [(slot, False, 1.0, 0) for slot in order], np.float64)


def test_large_whole_scores_are_not_rounded():
    # as floats 2**62 and 2**62 + 1 are the same, and the lower stamp would win
    heap = heaps.make_heap(2, np.int64)
    out, scores = np.zeros(2, np.int64), np.array([2**62 + 1, 2**62])
    drive(heap, np.array([(PUSH, 0, 1), (PUSH, 1, 2)]), scores, out, np.zeros(2, np.int64))
    assert out.tolist() == [0, 1]
