"""The tree with ranks against a sorted list."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import ranks as trees
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs

ENTER, LEAVE = range(2)
SLOTS = 12
CREDITS = [-(2**63), -1, 0, 1, 2, 2**63 - 1]


@kernel
def drive(ranks, ops, probes, inside, order, counted):
    """After each operation: the size, the slots in their order, and how many are not above."""
    for i in range(len(ops)):
        if ops[i, 0] == ENTER:
            trees.enter(ranks, ops[i, 1], ops[i, 2], ops[i, 3])
        else:
            trees.leave(ranks, ops[i, 1])
        inside[i] = trees.size(ranks)
        for rank in range(inside[i]):
            order[i, rank] = trees.at(ranks, rank)
        for j in range(len(probes)):
            counted[i, j] = trees.not_above(ranks, probes[j])


@given(
    moves=runs(st.tuples(st.integers(0, SLOTS - 1), st.sampled_from(CREDITS), st.integers(0, 3)))
)
def test_ranks_are_those_of_a_sorted_list(moves):
    held, ops, orders, counts = {}, [], [], []
    for number, (slot, credit, stamp) in enumerate(moves):
        if slot in held:
            del held[slot]
            ops.append((LEAVE, slot, 0, 0))
        else:
            held[slot] = (credit, (stamp << 10) | number)  # stamps need not ascend
            ops.append((ENTER, slot, *held[slot]))
        orders.append(sorted(held, key=held.get))
        counts.append([sum(c <= probe for c, _ in held.values()) for probe in CREDITS])
    n = len(ops)
    inside, order = np.zeros(n, np.int64), np.full((n, SLOTS), -1)
    counted = np.zeros((n, len(CREDITS)), np.int64)
    ops = np.array(ops, np.int64).reshape(-1, 4)
    drive(trees.make_ranks(SLOTS), ops, np.array(CREDITS), inside, order, counted)
    assert inside.tolist() == [len(each) for each in orders]
    assert [[slot for slot in row if slot >= 0] for row in order.tolist()] == orders
    assert counted.tolist() == counts


def depths(ranks):
    """Return how far every node is from the root."""
    found, level, depth = [], [int(ranks.root[0])], 0
    while level:
        found += [depth] * len(level)
        children = [int(c) for node in level for c in ranks.node[node, : trees.UP]]
        level, depth = [child for child in children if child != trees.NONE], depth + 1
    return found


def test_the_tree_stays_flat_when_credits_ascend():
    n = 256
    ops = np.array([(ENTER, i, i, i) for i in range(n)])
    inside, order = np.zeros(n, np.int64), np.zeros((n, n), np.int64)
    ranks = trees.make_ranks(n)
    drive(ranks, ops, np.array([0]), inside, order, np.zeros((n, 1), np.int64))
    assert order[-1].tolist() == list(range(n))
    # on average 2 ln(n) = 11; a list would be 255 deep
    assert len(depths(ranks)) == n
    assert max(depths(ranks)) < 30
