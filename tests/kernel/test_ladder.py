"""Rungs of equal credit against sorted lists."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import ladder as ladders
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

ENTER, CLIMB, LEAVE = range(3)
SLOTS = 9


@kernel
def drive(ladder, ops, out):
    """After each operation: the lowest slot, and the credit of the slot concerned."""
    for i in range(len(ops)):
        what, slot = ops[i, 0], ops[i, 1]
        if what == ENTER:
            ladders.enter(ladder, slot)
        elif what == CLIMB:
            ladders.climb(ladder, slot)
        else:
            ladders.leave(ladder, slot)
        out[i, 0] = ladders.lowest(ladder) if ladder.size[0] > 0 else -1
        out[i, 1] = ladder.value[ladder.rung[slot]] if what != LEAVE else -1


def first_credit(credits, percentile):
    held = sorted(credit for credit, _ in credits.values())
    return held[min(len(held) - 1, math.floor(percentile * len(held)))] if held else 0


def plan(moves, percentile):
    """Return operations and what is expected after each; a slot enters before it can climb."""
    credits, ops, expected = {}, [], []  # slot -> (credit, when it came to it)
    for now, (slot, what) in enumerate(moves):
        if slot not in credits:
            what = ENTER
            credits[slot] = (first_credit(credits, percentile), now)
        elif what == LEAVE:
            del credits[slot]
        else:
            what = CLIMB
            credits[slot] = (credits[slot][0] + 1, now)
        ops.append((what, slot))
        lowest = min(credits, key=credits.get) if credits else -1
        expected.append([lowest, credits[slot][0] if slot in credits else -1])
    return ops, expected, credits


@given(
    moves=runs(st.tuples(st.integers(0, SLOTS - 1), st.sampled_from([CLIMB, CLIMB, LEAVE]))),
    percentile=st.one_of(st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.floats(0, 1)),
)
def test_credits_and_the_lowest_are_those_of_a_sorted_list(moves, percentile):
    ops, expected, credits = plan(moves, percentile)
    ladder = ladders.make_ladder(SLOTS, percentile)
    out = np.zeros((len(ops), 2), np.int64)
    drive(ladder, np.array(ops, np.int64).reshape(-1, 2), out)
    assert out.tolist() == expected
    assert ladder.size[0] == len(credits)
    rungs_in_use = ladder.opened[0] - ladder.unused[0]
    assert rungs_in_use == len({credit for credit, _ in credits.values()})


def test_the_first_on_a_rung_leaves_it_first():
    # 0 and 1 enter at 0; 1 climbs before 0 does, so 1 is the lowest although it came later
    out = np.zeros((4, 2), np.int64)
    drive(ladders.make_ladder(2, 0.0), np.array([(0, 0), (0, 1), (1, 1), (1, 0)]), out)
    assert out.tolist() == [[0, 0], [0, 0], [0, 1], [1, 1]]


def test_when_the_highest_are_gone_the_next_are_the_highest():
    # 0 has 1, 1 has 2, and 2 and 3 have 3, each starting with the highest; when 2 and 3 leave,
    # the next one starts with 2
    ops = [(ENTER, 0), (CLIMB, 0), (ENTER, 1), (CLIMB, 1), (ENTER, 2), (CLIMB, 2), (ENTER, 3)]
    ops += [(LEAVE, 2), (LEAVE, 3), (ENTER, 4)]
    out = np.zeros((len(ops), 2), np.int64)
    drive(ladders.make_ladder(5, 1.0), np.array(ops), out)
    assert out[:, 1].tolist() == [0, 1, 1, 2, 2, 3, 3, -1, -1, 2]


def test_the_percentile_counts_from_below():
    # credits 0 1 2 3; half of four is rank 2, which is the third of them
    climbs = [(CLIMB, slot) for slot in range(4) for _ in range(slot)]
    enters = [(ENTER, slot) for slot in range(4)]
    for percentile, credit in ((0.0, 0), (0.49, 1), (0.5, 2), (0.75, 3), (1.0, 3)):
        ladder = ladders.make_ladder(5, percentile)
        ops = np.array([*enters, *climbs, (ENTER, 4)])  # all enter at 0, as none has climbed
        out = np.zeros((len(ops), 2), np.int64)
        drive(ladder, ops, out)
        assert out[-1].tolist() == [0, credit]
