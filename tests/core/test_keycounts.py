"""Counts of every key per leg, against the twin's Counter."""

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core import keycounts
from penstock.core.jit import kernel
from penstock.core.shape import TWO_WAY, Shape
from penstock.core.slots import FOREVER, make_held
from tests.core.draws import runs
from tests.naive.policies.counts import ArrivalCounts
from tests.naive.tuples import Tuple

# Stream 0 is in three joins, stream 3 in none, and stream 1 joins with its second attribute.
TANGLED = (((0, 0), (1, 1), (2, 0)), ((2, 1), (0, 0)), ((4, 0), (0, 1)))
KEYS = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])


@kernel
def drive(counts, held, first, last, out):
    """Count the tuples from `first` to `last`; then tell what every tuple is worth."""
    for slot in range(first, last):
        keycounts.tally(counts, held, slot)
    for slot in range(len(out)):
        out[slot, 0] = keycounts.productivity(counts, held, slot)
        out[slot, 1] = keycounts.references(counts, held, slot)


def seated(tuples):
    held = make_held(max(1, len(tuples)), 2)
    for slot, (stream, keys) in enumerate(tuples):
        held.key[slot] = keys
        held.at[slot]["stream"] = stream
    return held


def check(tuples, joins, cuts):
    """Count as the twin does, making room and comparing everybody's worth at every cut."""
    held, counts, twin = seated(tuples), keycounts.make_counts(Shape(joins)), ArrivalCounts(joins)
    everybody = [Tuple(stream, keys, 0, FOREVER, 0) for stream, keys in tuples]
    out = np.zeros((len(tuples), 2))
    for first, last in zip([0, *cuts], [*cuts, len(tuples)], strict=True):
        counts = keycounts.reserve(counts, last - first)
        drive(counts, held, first, last, out)
        assert 2 * counts.used.max() <= counts.cell.shape[1]
        for each in everybody[first:last]:
            twin.add(each)
        others = [twin.on_other_legs(each) for each in everybody]
        expected = [[sum(map(prod, legs)), sum(map(sum, legs))] for legs in others]
        assert out.tolist() == expected
    return counts


@given(
    tuples=runs(st.tuples(st.sampled_from([0, 1, 2, 4]), st.tuples(KEYS, KEYS)), 60),
    cut=st.integers(0, 60),
)
def test_counts_as_its_twin(tuples, cut):
    check(tuples, TANGLED, [min(cut, len(tuples))])


def test_counts_many_keys_as_its_twin_while_it_grows():
    # up to a thousand keys a join, in tables of a thousand cells at first: many collide
    random = np.random.default_rng(12)
    n = 1500
    streams, keys = random.choice([0, 1, 2, 4], n), random.integers(-700, 700, (n, 2))
    tuples = list(zip(streams.tolist(), map(tuple, keys.tolist()), strict=True))
    counts = check(tuples, TANGLED, [300, 600, 900])
    for join, used in zip(TANGLED, counts.used.tolist(), strict=True):
        attribute = dict(join)
        assert used == len({k[attribute[s]] for s, k in tuples if s in attribute}) > 512


def test_sides_multiply_joins_add_and_references_only_add():
    # (7, 9) of stream 0 meets 7 twice on stream 1 and three times on stream 2, and 9 once on 4
    others = [(1, (0, 7))] * 2 + [(2, (7, 0))] * 3 + [(4, (9, 0))]
    held = seated([*others, (0, (7, 9))])
    counts = keycounts.make_counts(Shape(TANGLED))
    out = np.zeros((7, 2))
    drive(counts, held, 0, 6, out)
    # stream 2's second attribute is 0: it does not meet the 7 in the second join
    assert out[6].tolist() == [2 * 3 + 0 + 1, 2 + 3 + 0 + 1]


def test_there_is_always_twice_the_room():
    counts = keycounts.make_counts(Shape(TWO_WAY))
    cells = counts.cell.shape[1]
    assert keycounts.reserve(counts, cells // 2) is counts
    assert keycounts.reserve(counts, cells // 2 + 1).cell.shape[1] == 2 * cells
    assert keycounts.reserve(counts, 4 * cells + 1).cell.shape[1] == 16 * cells
