from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput, BadState
from penstock.profile.lossy import LossyCounter
from tests.naive.lossy import frequent, lossy

WIDTHS = st.integers(2, 12)
# Some keys are frequent, and many come once or twice.
KEYS = st.lists(st.one_of(st.integers(0, 3), st.integers(-40, 40)), max_size=300)


def held(counter):
    saved = counter.save()
    rows = zip(*(saved[name].tolist() for name in ("key", "count", "slack")), strict=True)
    return {key: (count, slack) for key, count, slack in rows}


def counted(keys, width):
    counter = LossyCounter(Fraction(1, width))
    counter.push(keys)
    return counter


def assert_guaranteed(counter, keys, share):
    """Check all that is promised after `keys`, whichever way they were counted."""
    n, true = len(keys), Counter(keys)
    assert counter.seen == n
    for key in {*true, 10_000}:
        lowest, highest = counter.bounds(key)
        assert counter.count(key) == lowest <= true[key] <= highest
        assert true[key] - lowest <= n // counter.width
    found = counter.frequent(share)
    assert frequent(keys, share).keys() <= set(found.key.tolist())
    for key, lowest in zip(found.key.tolist(), found.lowest.tolist(), strict=True):
        assert true[key] >= lowest >= (share - Fraction(1, counter.width)) * n


def test_a_case_by_hand():
    # Buckets of 4. After the first, 1 is held with 2 and all others are forgotten; in the second
    # 5 comes twice, with a slack of 1; 1 has 2 + 0 <= 2 and goes.
    counter = counted([1, 2, 1, 3], 4)
    assert held(counter) == {1: (2, 0)}
    counter.push([5, 6, 5])
    assert held(counter) == {1: (2, 0), 5: (2, 1), 6: (1, 1)}
    assert (counter.held, counter.peak, counter.peak_pruned) == (3, 3, 1)
    counter.push([7])
    assert held(counter) == {5: (2, 1)}
    assert counter.bounds(5) == (2, 3)
    assert counter.bounds(1) == (0, 2)
    assert (counter.seen, counter.peak) == (8, 4)


@given(keys=KEYS, width=WIDTHS, cuts=st.lists(st.integers(0, 300), max_size=3))
def test_counts_as_its_twin(keys, width, cuts):
    counter = LossyCounter(Fraction(1, width))
    marks = sorted(min(cut, len(keys)) for cut in cuts)
    for a, b in zip([0, *marks], [*marks, len(keys)], strict=True):
        counter.push(keys[a:b])
        counter = LossyCounter.restore(counter.save())
    assert held(counter) == lossy(keys, width)
    assert counter.held == len(held(counter)) <= counter.peak or not keys


@given(keys=KEYS, width=WIDTHS, more=st.fractions(0.01, 1))
def test_stays_within_its_bounds(keys, width, more):
    share = min(Fraction(1), Fraction(1, width) + more)
    assert_guaranteed(counted(keys, width), keys, share)


@given(
    keys=KEYS,
    width=WIDTHS,
    parts=st.integers(1, 6),
    seed=st.integers(0, 99),
    more=st.fractions(0.01, 1),
    after=KEYS,
)
def test_merged_parts_stay_within_the_bounds(keys, width, parts, seed, more, after):
    share = min(Fraction(1), Fraction(1, width) + more)
    to = np.random.default_rng(seed).integers(0, parts, len(keys))
    counters = [
        counted([key for key, part in zip(keys, to, strict=True) if part == number], width)
        for number in range(parts)
    ]
    while len(counters) > 1:  # in pairs, as a tree
        last = counters.pop()
        counters[seed % len(counters)].merge(last)
    assert_guaranteed(counters[0], keys, share)
    counters[0].push(after)
    assert_guaranteed(counters[0], keys + after, share)


def test_a_table_that_grows():
    keys = np.random.default_rng(1).integers(0, 1 << 40, 200_000)
    counter = LossyCounter(0.00001)
    counter.push(keys)
    assert counter.peak == 100_000
    assert held(counter) == lossy(keys.tolist(), 100_000)


def test_a_share_that_is_exactly_the_support_is_reported():
    for n in range(10, 400, 10):
        keys = [1] * (n // 10) + list(range(2, 2 + n - n // 10))
        counter = LossyCounter(0.099)
        counter.push(np.random.default_rng(n).permutation(keys))
        assert 1 in counter.frequent(0.1).key


def test_all_integers_are_keys():
    extremes = [0, -1, 2**63 - 1, -(2**63)]
    assert [counted(extremes * 3, 100).count(key) for key in extremes] == [3] * 4
    counter = counted(np.array([2**64 - 1, 5], np.uint64), 100)
    assert counter.count(5) == 1
    assert counted([], 10).frequent(0.5).key.tolist() == []


@pytest.mark.parametrize("epsilon", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "x", None])
def test_refuses_an_epsilon(epsilon):
    with pytest.raises(BadInput, match="epsilon must be above 0 and below 1, got"):
        LossyCounter(epsilon)


def test_support_must_be_above_epsilon():
    counter = LossyCounter(0.1)
    counter.push([1, 1])
    assert counter.frequent(0.11).key.tolist() == counter.frequent(1).key.tolist() == [1]
    for support in (0.1, 0.01):
        with pytest.raises(BadInput, match=f"above epsilon, got support {support} and epsilon 0.1"):
            counter.frequent(support)
    for support in (0, 1.01):
        with pytest.raises(BadInput, match="support must be above 0 and at most 1"):
            counter.frequent(support)


def test_refuses_other_input():
    with pytest.raises(BadInput, match=r"list of integers, got 1 dimension.s. of float64"):
        LossyCounter(0.1).push([0.5])
    with pytest.raises(BadInput, match=r"same epsilon, got 0.1 and 0.2"):
        LossyCounter(0.1).merge(LossyCounter(0.2))
    saved = LossyCounter(0.1).save()
    with pytest.raises(BadState, match="must be of format 1, got 9"):
        LossyCounter.restore(saved | {"format": np.array([9])})
    with pytest.raises(BadState, match="must have totals"):
        LossyCounter.restore({name: saved[name] for name in saved if name != "totals"})
