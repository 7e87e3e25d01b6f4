"""The stack of small numbers against a plain list whose end is the top."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import pages
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

POP = -1


@kernel
def drive(numbers, ops, out):
    """POP, or push the number that is given instead."""
    for i in range(len(ops)):
        if ops[i] == POP:
            out[i] = pages.pop(numbers)
        else:
            pages.push(numbers, ops[i])


def play(numbers, model, moves):
    """Make the moves on both; an even one pops, an odd one pushes a number that is not there."""
    room = len(numbers) - 1
    ops, expected = [], []
    for move in moves:
        absent = sorted(set(range(room)) - set(model))
        if model and (move % 2 == 0 or not absent):
            ops.append(POP)
            expected.append(model.pop())
        elif absent:
            model.append(absent[move % len(absent)])
            ops.append(model[-1])
            expected.append(0)
    out = np.zeros(len(ops), np.int64)
    drive(numbers, np.array(ops, np.int64), out)
    assert out.tolist() == expected
    assert numbers[0] == len(model)
    assert numbers[1 : 1 + len(model)].tolist() == model


MOVES = runs(st.integers(0, 99), 40)


@given(
    bounds=st.lists(st.integers(0, 9), min_size=3, max_size=3).map(sorted),
    more=st.integers(0, 6),
    before=MOVES,
    after=MOVES,
)
def test_pops_what_a_list_pops_also_when_grown_in_between(bounds, more, before, after):
    low, high, room = bounds
    numbers, model = pages.make_stack(low, high, room), list(range(high - 1, low - 1, -1))
    play(numbers, model, before)
    numbers = pages.grow_stack(numbers, room + more)
    model = [*range(room + more - 1, room - 1, -1), *model]
    play(numbers, model, after)


def test_the_lowest_lies_on_top_and_new_numbers_lie_beneath():
    numbers = pages.make_stack(0, 3, 3)
    assert numbers.tolist() == [3, 2, 1, 0]
    drive(numbers, np.array([POP]), np.zeros(1, np.int64))
    # 0 is out; 3 and 4 are new, and come after 1 and 2
    assert pages.grow_stack(numbers, 5).tolist() == [4, 4, 3, 2, 1, 0]
