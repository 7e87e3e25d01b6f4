"""The twin of outer, semi and anti joins against nested loops, and cases worked by hand."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .how import HOWS, NaiveHow, exact_results, in_time
from .policies import factory
from .test_naive import row

bounds = st.integers(-8, 8)
windows = st.none() | st.integers(0, 8) | st.tuples(bounds, bounds).map(lambda b: tuple(sorted(b)))
times = st.integers(0, 40)
keys = st.none() | st.integers(0, 2)
batches_of = st.lists(st.lists(st.builds(row, st.integers(0, 1), keys, times), max_size=12))


@pytest.mark.parametrize("how", HOWS)
@given(batches=batches_of, within=windows, delay=st.integers(0, 20))
def test_with_memory_enough_it_is_nested_loops(how, batches, within, delay):
    join = NaiveHow(factory("fifo"), None, how=how, within=within, delay=delay)
    found = [pair for batch in batches for pair in join.push(batch)] + join.finish()
    assert Counter(found) == Counter(exact_results(in_time(batches, delay), within, how))


def test_first_and_one_take_the_row_that_was_kept_first():
    rows = [row(1, 7, 0), row(1, 7, 1), row(0, 7, 2), row(0, 7, 3), row(0, 7, 4)]
    first = NaiveHow(factory("fifo"), None, how="left", match="first", within=10)
    assert first.push(rows) == [(2, 0), (3, 0), (4, 0)]
    one = NaiveHow(factory("fifo"), None, how="left", match="one", within=10)
    assert one.push(rows) == [(2, 0), (3, 1)]
    assert one.finish() == [(4, -1)]
    assert one.counters["completed"] == [2, 2]


def test_what_memory_cannot_hold_departs_alone():
    join = NaiveHow(factory("fifo"), 1, how="full", within=10)
    assert join.push([row(0, 7, 0), row(1, 8, 1), row(0, 8, 2)]) == [(2, 1), (0, -1)]
    assert join.counters["unmatched_evicted"] == [1, 0]
    assert join.counters["evicted"] == [1, 1]
    assert join.push([row(1, None, 3)]) == [(-1, 3)]
    assert join.counters["unmatched"] == [1, 1]
    assert join.finish() == []


def test_a_window_above_zero_takes_later_right_rows_only():
    join = NaiveHow(factory("fifo"), None, how="left", within=(2, 3))
    assert join.push([row(0, 7, 0), row(1, 7, 1), row(1, 7, 2), row(1, 7, 3)]) == [(0, 2), (0, 3)]
    assert join.counters["expired"] == [0, 3]
    assert join.push([row(0, 7, 3), row(1, 9, 9)]) == [(4, -1)]
