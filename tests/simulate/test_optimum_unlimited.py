import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.kernel.shape import TWO_WAY, all_streams, in_pairs
from penstock.simulate.optimum import exact_results, first_matches
from tests.compare import streams
from tests.naive.join import NaiveJoin
from tests.naive.policies import factory

MIXED = (((0, 0), (1, 0), (2, 1)), ((1, 1), (2, 0)))  # a three-way and a two-way join
SHAPES = [TWO_WAY, all_streams(3), all_streams(4), in_pairs(4), all_streams(2, 2), MIXED]


def naive_results(rows, joins, together):
    """Return all results of a memory without limit: (join, row numbers)."""
    width = 1 + max(stream for join in joins for stream, _ in join)
    twin = NaiveJoin(factory("fifo"), None, joins=joins, streams=width, together=together)
    return twin.push(rows)


def naive_counts(rows, joins, together):
    """Return by join how many results each row completes in a memory without limit."""
    counts = np.zeros((len(joins), len(rows)), int)
    for join, numbers in naive_results(rows, joins, together):
        counts[join, max(numbers)] += 1
    return counts.tolist()


def drawn(data, joins):
    """Draw rows in order, and return them as they are and as columns."""
    width = 1 + max(stream for join in joins for stream, _ in join)
    attributes = 1 + max(attribute for join in joins for _, attribute in join)
    rows = data.draw(streams(count=width, attributes=attributes, keys=3, most=50, ends=True))
    rows = sorted(rows, key=lambda row: (row["time"], row["stream"]))
    return rows, [[row[name] for row in rows] for name in ("stream", "keys", "time", "end")]


@pytest.mark.parametrize("joins", SHAPES)
@given(data=st.data(), together=st.booleans())
def test_counts_what_an_unlimited_twin_finds(joins, data, together):
    rows, columns = drawn(data, joins)
    found = exact_results(*columns, joins=joins, together=together)
    assert found.tolist() == naive_counts(rows, joins, together)


@pytest.mark.parametrize("joins", SHAPES)
@given(data=st.data(), together=st.booleans())
def test_first_matches_are_those_of_an_unlimited_twin(joins, data, together):
    rows, columns = drawn(data, joins)
    expected = [len(rows)] * len(rows)
    for _, numbers in naive_results(rows, joins, together):
        for row in numbers:
            expected[row] = min(expected[row], max(numbers))
    assert first_matches(*columns, joins=joins, together=together).tolist() == expected


def test_without_an_end_there_is_no_limit():
    assert exact_results([0, 1], [5, 5], [0, 10**15]).tolist() == [[0, 1]]


def test_no_rows_no_results():
    assert exact_results([], [], []).tolist() == [[]]
    assert first_matches([], [], []).tolist() == []
    # a join whose streams are silent
    assert exact_results([0, 1], [5, 5], [0, 1], joins=in_pairs(4)).sum(axis=1).tolist() == [1, 0]


def test_more_results_than_can_be_counted():
    side = np.repeat(np.arange(5), 40_000)
    rows = side, np.zeros(len(side), int), np.arange(len(side))
    with pytest.raises(BadInput, match="more results than 64 bits can count"):
        exact_results(*rows, joins=all_streams(5))
    fewer = [column[side < 4] for column in rows]
    assert exact_results(*fewer, joins=all_streams(4)).sum() == 40_000**4
