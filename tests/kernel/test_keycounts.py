"""Counts by key per leg, against the twin's rows of chairs."""

from itertools import islice
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import keycounts
from penstock.kernel.jit import kernel
from penstock.kernel.shape import TWO_WAY, Shape
from penstock.kernel.slots import FOREVER, make_held
from tests.kernel.draws import runs
from tests.marks import long
from tests.naive.policies.counts import ArrivalCounts
from tests.naive.rng import mix
from tests.naive.tuples import Tuple

# Stream 0 is in three joins, stream 3 in none, and stream 1 joins with its second attribute.
TANGLED = (((0, 0), (1, 1), (2, 0)), ((2, 1), (0, 0)), ((4, 0), (0, 1)))
KEYS = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])


def crowd(count, sets):
    """Return keys that have the same eight places."""
    found = (key for key in range(10**6) if (mix(key) >> 32) * sets >> 32 == 3)
    return list(islice(found, count))


CROWD = crowd(14, keycounts.FEWEST // keycounts.WAYS)


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


def check(tuples, joins, cuts, scale=10, pace=None):
    """Count as the twin does, comparing all worths at every cut, and saving there."""
    held, counts = seated(tuples), keycounts.make_counts(Shape(joins), scale)
    twin = ArrivalCounts(joins, scale)
    if pace is not None:
        counts, twin.life = counts._replace(pace=np.array([pace])), 64 * pace
    every = [Tuple(stream, keys, 0, FOREVER, 0) for stream, keys in tuples]
    out = np.zeros((len(tuples), 2))
    for first, last in zip([0, *cuts], [*cuts, len(tuples)], strict=True):
        drive(counts, held, first, last, out)
        for each in every[first:last]:
            twin.add(each)
        others = [twin.on_other_legs(each) for each in every]
        expected = [[sum(map(prod, legs)), sum(map(sum, legs))] for legs in others]
        assert out.tolist() == expected
        counts = restored(counts)
    return counts


def restored(counts):
    """Return what a saved table goes on as."""
    saved = counts.compact()
    used = np.count_nonzero(counts.cell[:, :, keycounts.WEIGHT])
    few = used < 0.75 * counts.cell[:, :, 0].size
    assert (len(saved.place), saved.cell.size) == (used, 0) if few else saved is counts
    again = (saved._replace(cell=np.zeros_like(counts.cell)) if few else saved).expand()
    assert (again.cell == counts.cell).all()
    return again


@given(
    tuples=runs(st.tuples(st.sampled_from([0, 1, 2, 4]), st.tuples(KEYS, KEYS)), 60),
    cut=st.integers(0, 60),
)
def test_counts_as_its_twin(tuples, cut):
    check(tuples, TANGLED, [min(cut, len(tuples))])


@given(keys=runs(st.sampled_from(CROWD), 80), cut=st.integers(0, 80))
def test_forgets_the_lightest_as_its_twin_where_many_keys_share_eight_places(keys, cut):
    tuples = [(place % 2, (key, 0)) for place, key in enumerate(keys)]
    check(tuples, TWO_WAY, [min(cut, len(tuples))], scale=0)


@long
def test_counts_ever_new_keys_as_its_twin_until_weights_have_faded():
    # a table of about 1,060 places a join, and three half-lives of arrivals
    random = np.random.default_rng(12)
    n = 12_000
    streams = random.choice([0, 1, 2, 4], n)
    keys = np.where(random.random((n, 2)) < 0.5, random.integers(0, 60, (n, 2)), 0)
    keys = np.where(keys, keys, np.arange(2 * n).reshape(n, 2) + 1000)
    keys[n // 2 :] += keys[n // 2 :] < 1000  # others are popular
    tuples = list(zip(streams.tolist(), map(tuple, keys.tolist()), strict=True))
    counts = check(tuples, TANGLED, [4000, 8000], pace=50)
    assert counts.cell.shape[1] < 1100


def seen(counts, side, key):
    """Return how often a key came on a side of the first join, as far as it is known."""
    cell = counts.cell[0][counts.cell[0, :, keycounts.WEIGHT] != 0]
    return int(cell[cell[:, keycounts.KEY] == key, keycounts.SEEN + side].sum())


def test_what_was_popular_long_ago_is_forgotten():
    # 7 comes 1,000 times; then others that share its places, each five times, a half-life apart
    counts = keycounts.make_counts(Shape(TWO_WAY), 0)
    sets = counts.cell.shape[1] // keycounts.WAYS
    old, *others = crowd(60, sets)
    held = seated([(0, (old, 0))] + [(1, (key, 0)) for key in others])
    for _ in range(1000):
        drive(counts, held, 0, 1, np.zeros((0, 2)))
    assert seen(counts, 0, old) == 1000
    for place in range(1, 1 + len(others)):
        counts.arrived[0] += int(counts.pace[0]) * keycounts.TICKS // 4
        for _ in range(5):
            drive(counts, held, place, place + 1, np.zeros((0, 2)))
        if place == 9:
            assert seen(counts, 0, old) == 1000  # still the heaviest of the eight
    assert seen(counts, 0, old) == 0
    assert seen(counts, 1, others[-1]) == 5


def test_sides_multiply_joins_add_and_references_only_add():
    # (7, 9) of stream 0 meets 7 twice on stream 1 and three times on stream 2, and 9 once on 4
    others = [(1, (0, 7))] * 2 + [(2, (7, 0))] * 3 + [(4, (9, 0))]
    held = seated([*others, (0, (7, 9))])
    counts = keycounts.make_counts(Shape(TANGLED), 10)
    out = np.zeros((7, 2))
    drive(counts, held, 0, 6, out)
    # stream 2's second attribute is 0: it does not meet the 7 in the second join
    assert out[6].tolist() == [2 * 3 + 0 + 1, 2 + 3 + 0 + 1]


def test_a_table_is_as_large_as_the_budget_asks_whatever_comes():
    for scale in (0, 1, 100, 10_000):
        places = keycounts.make_counts(Shape(TWO_WAY), scale).cell.shape[1]
        wanted = keycounts.FEWEST + keycounts.KEYS * scale
        assert wanted <= places < wanted + keycounts.WAYS
