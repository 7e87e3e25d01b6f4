"""Counts of a sliding window: their bounds after every row, the twin, cuts and restores."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput, BadState
from penstock.profile.windowed import WindowCounter
from tests.naive.windowed import Window

# Some keys are frequent, and many come once or twice.
KEYS = st.lists(st.one_of(st.integers(0, 3), st.integers(-60, 60)), min_size=1, max_size=250)
EPSILONS = st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(9, 10)])
LENGTHS = st.integers(1, 80)
GAPS = st.lists(st.sampled_from([0, 0, 1, 1, 2, 5, 40, 300]), min_size=250, max_size=250)


def window_of(keys, places, length):
    """The keys whose place is in the window that ends with the last one."""
    return [k for k, place in zip(keys, places, strict=True) if place > places[-1] - length]


def assert_bounded(counter, inside, all_keys):
    true = Counter(inside)
    few, many = counter.in_window
    assert few <= len(inside) <= many
    for key in {*all_keys, 10_000}:
        lowest, highest = counter.bounds(key)
        assert lowest <= true[key] <= highest


@given(keys=KEYS, epsilon=EPSILONS, rows=LENGTHS, more=st.fractions(0.01, 1))
def test_after_every_row_the_counts_of_the_last_rows_are_bounded(keys, epsilon, rows, more):
    counter = WindowCounter(epsilon, rows=rows)
    support = min(Fraction(1), epsilon + more)
    for n, key in enumerate(keys, 1):
        counter.push([key])
        inside = keys[max(0, n - rows) : n]
        assert_bounded(counter, inside, keys)
        assert counter.in_window == (len(inside), len(inside))
        assert all(high - low <= epsilon * rows for _, low, high in zip(*counter.most(9999)))
        found = counter.frequent(support).key.tolist()
        assert {k for k, c in Counter(inside).items() if c >= support * len(inside)} <= set(found)
        assert counter.held <= counter.peak <= 24 / epsilon + 8


@given(keys=KEYS, epsilon=EPSILONS, span=LENGTHS, gaps=GAPS, more=st.fractions(0.01, 1))
def test_after_every_row_the_counts_of_a_span_of_time_are_bounded(keys, epsilon, span, gaps, more):
    times = np.cumsum(gaps[: len(keys)]) - 100
    counter = WindowCounter(epsilon, span=span)
    support = min(Fraction(1), epsilon + more)
    for n, key in enumerate(keys, 1):
        counter.push([key], times[n - 1 : n])
        inside = window_of(keys[:n], times[:n], span)
        assert_bounded(counter, inside, keys)
        found = counter.frequent(support).key.tolist()
        assert {k for k, c in Counter(inside).items() if c >= support * len(inside)} <= set(found)


@given(
    keys=KEYS,
    epsilon=EPSILONS,
    length=LENGTHS,
    gaps=st.one_of(st.none(), GAPS),
    cuts=st.lists(st.integers(0, 250), max_size=3),
)
def test_counts_as_its_twin_whatever_the_cuts(keys, epsilon, length, gaps, cuts):
    places = np.arange(len(keys)) if gaps is None else np.cumsum(gaps[: len(keys)])
    counter = WindowCounter(epsilon, **{"rows" if gaps is None else "span": length})
    marks = sorted(min(cut, len(keys)) for cut in cuts)
    for a, b in zip([0, *marks], [*marks, len(keys)], strict=True):
        counter.push(keys[a:b], None if gaps is None else places[a:b])
        counter = WindowCounter.restore(counter.save())
    twin = Window(epsilon, length, gaps is None)
    for key, place in zip(keys, places.tolist(), strict=True):
        twin.take(key, place)
    assert {key: counter.bounds(key) for key in keys} == {key: twin.bounds(key) for key in keys}
    assert counter.missing == twin.unknown
    if gaps is not None:
        assert counter.in_window == twin.bounds(None)


ENDS = st.sampled_from([0, 1, 2**40, 2**61, 2**62, 2**62 + 1, 2**63 - 1])


@given(
    start=st.sampled_from([-(2**63), -(2**63) + 9, -1, 0, 2**62, 2**63 - 2]),
    gaps=st.lists(ENDS, min_size=1, max_size=9),
    span=ENDS.filter(bool),
    keys=st.lists(st.sampled_from([-(2**63), -1, 2**63 - 1]), min_size=9, max_size=9),
)
@pytest.mark.filterwarnings("error::RuntimeWarning:penstock.profile.windowed")
def test_times_and_spans_may_lie_at_the_ends_of_64_bits(start, gaps, span, keys):
    times = [start]
    for gap in gaps[1:]:
        times.append(min(times[-1] + gap, 2**63 - 1))
    counter = WindowCounter(Fraction(1, 3), span=span)
    for n, (key, time) in enumerate(zip(keys, times, strict=False), 1):
        counter.push([key], np.array([time], np.int64))
        assert_bounded(counter, window_of(keys[:n], times[:n], span), keys)
        counter = WindowCounter.restore(counter.save())


def test_a_case_by_hand():
    # k = 8, T = 2 rows of 4. Rows 0 to 3 leave a note for 1 at row 1; 2 and 3 have one row each.
    counter = WindowCounter(0.5, rows=8)
    counter.push([1, 1, 2, 3])
    assert [counter.bounds(key) for key in (1, 2, 3, 4)] == [(2, 2), (1, 1), (1, 1), (0, 0)]
    # Rows 4 to 7 fill the frame; row 8 begins the next, and row 0 is out of the window: the note
    # of row 1 stands for rows 0 and 1.
    counter.push([1, 1, 2, 2, 5])
    assert counter.bounds(1) == (3, 4)
    assert counter.bounds(5) == (1, 1)
    # The rest of the frame is noted at its last row, 7: how many of those are in the window is open
    assert counter.bounds(3) == (0, 1)
    counter.push([5] * 7)
    assert counter.bounds(5) == (8, 8)
    assert counter.bounds(1) == counter.bounds(3) == (0, 0)


def test_a_long_window_is_counted_in_little_space():
    random = np.random.default_rng(1)
    keys = np.concatenate((random.zipf(1.2, 400_000) % 100_000, random.zipf(1.2, 100_000) + 7))
    counter = WindowCounter(0.01, rows=100_000)
    for part in np.array_split(keys, 7):
        counter.push(part)
    true = Counter(keys[-100_000:].tolist())
    for key, lowest, highest in zip(*(c.tolist() for c in counter.most(50)), strict=True):
        assert lowest <= true[key] <= highest <= lowest + 1000
    assert {k for k, c in true.items() if c >= 10_000} <= set(counter.frequent(0.1).key.tolist())
    assert counter.peak <= 2400


def test_a_burst_in_time_is_counted_in_little_space():
    random = np.random.default_rng(2)
    times = np.sort(np.concatenate((random.integers(0, 4000, 4000), np.full(60_000, 2500))))
    keys = random.integers(0, 5000, len(times))
    counter = WindowCounter(0.05, span=1000)
    counter.push(keys, times)
    assert_bounded(counter, window_of(keys.tolist(), times.tolist(), 1000), range(50))
    assert counter.peak <= 24 / 0.05 * (1 + np.log(0.05 * 61_000 / 2))


def test_bad_input():
    with pytest.raises(BadInput, match="one of rows and span must be given, got rows None"):
        WindowCounter(0.1)
    with pytest.raises(BadInput, match="rows must be a whole number of at least 1, got 0"):
        WindowCounter(0.1, rows=0)
    with pytest.raises(BadInput, match="epsilon must be above 0 and below 1, got 1"):
        WindowCounter(1, rows=5)
    with pytest.raises(BadInput, match="times must not be given for a window of rows"):
        WindowCounter(0.1, rows=5).push([1], [1])
    with pytest.raises(BadInput, match=r"rows must be a whole number of at least 1, got 7\.9"):
        WindowCounter(0.1, rows=7.9)
    with pytest.raises(BadInput, match="span must fit 64 bits, got 9223372036854775808"):
        WindowCounter(0.1, span=2**63)
    counter = WindowCounter(0.1, span=5)
    with pytest.raises(BadInput, match="64 bits, one for each key, got"):
        counter.push([1], np.array([2**63], np.uint64))
    with pytest.raises(BadInput, match="times must be 2 whole numbers of 64 bits, one for each"):
        counter.push([1, 2], [1.5, 2.5])
    with pytest.raises(BadInput, match="times must not go back, got 3 after 4; sort the rows"):
        counter.push([1, 2], [4, 3])
    counter.push([1], [9])
    with pytest.raises(BadInput, match="times must not go back, got 8 after 9; sort the rows"):
        counter.push([1], [8])
    with pytest.raises(BadState, match="a saved counter must have totals; got none"):
        WindowCounter.restore({k: v for k, v in counter.save().items() if k != "totals"})
    with pytest.raises(BadState, match="must be of format 1, got 9"):
        WindowCounter.restore(counter.save() | {"format": np.array([9])})
