"""Counts of every key per leg, against the twin's Counter."""

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core import keycounts
from penstock.core.jit import kernel
from penstock.core.shape import TWO_WAY, Shape
from penstock.core.slots import FOREVER, make_held
from tests.naive.policies.counts import ArrivalCounts
from tests.naive.tuples import Tuple

# Stream 0 is in three joins, stream 3 in none, and stream 1 joins with its second attribute.
TANGLED = (((0, 0), (1, 1), (2, 0)), ((2, 1), (0, 0)), ((4, 0), (0, 1)))
KEYS = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])


@kernel
def drive(counts, held, first, last, out):
    """Count the tuples from `first` on; after each tell what every tuple is worth."""
    for i in range(first, last):
        keycounts.tally(counts, held, i)
        for slot in range(len(held.at)):
            out[i, slot, 0] = keycounts.productivity(counts, held, slot)
            out[i, slot, 1] = keycounts.references(counts, held, slot)


def seated(tuples):
    held = make_held(max(1, len(tuples)), 2)
    for slot, (stream, keys) in enumerate(tuples):
        held.key[slot] = keys
        held.at[slot]["stream"] = stream
    return held


@given(
    tuples=st.lists(st.tuples(st.sampled_from([0, 1, 2, 4]), st.tuples(KEYS, KEYS)), max_size=25),
    cut=st.integers(0, 25),
)
def test_counts_as_its_twin_also_when_grown_in_between(tuples, cut):
    n, cut = len(tuples), min(cut, len(tuples))
    held, out = seated(tuples), np.zeros((n, max(1, n) + 1, 2))
    counts = keycounts.make_counts(Shape(TANGLED), entries=1)
    for first, last in ((0, cut), (cut, n)):
        counts = keycounts.reserve(counts, last - first)
        drive(counts, held, first, last, out)
    twin = ArrivalCounts(TANGLED)
    everybody = [Tuple(stream, keys, 0, FOREVER, 0) for stream, keys in tuples]
    for i, arrival in enumerate(everybody):
        twin.add(arrival)
        expected = []
        for each in everybody:
            others = twin.on_other_legs(each)
            expected.append([sum(map(prod, others)), sum(map(sum, others))])
        assert out[i, :n].tolist() == expected


def test_sides_multiply_joins_add_and_references_only_add():
    # (7, 9) of stream 0 meets 7 twice on stream 1 and three times on stream 2, and 9 once on 4
    others = [(1, (0, 7))] * 2 + [(2, (7, 0))] * 3 + [(4, (9, 0))]
    held = seated([*others, (0, (7, 9))])
    counts = keycounts.make_counts(Shape(TANGLED))
    out = np.zeros((6, 8, 2))
    drive(counts, held, 0, 6, out)
    # stream 2's second attribute is 0: it does not meet the 7 in the second join
    assert out[5, 6].tolist() == [2 * 3 + 0 + 1, 2 + 3 + 0 + 1]


def test_reserve_makes_room_only_when_it_must():
    counts = keycounts.make_counts(Shape(TWO_WAY), entries=4)
    assert keycounts.reserve(counts, 4) is counts
    larger = keycounts.reserve(counts, 5)
    assert len(larger.key) == len(larger.seen) == 8
    assert larger.buckets.shape == (1, 16)
    assert len(keycounts.reserve(counts, 100).key) == 100
