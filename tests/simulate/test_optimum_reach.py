import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.simulate.optimum import counted_from, find_reach
from tests.simulate.rows import columns, matches, streams


@given(rows=streams(), together=st.booleans())
def test_a_range_holds_exactly_the_matches(rows, together):
    reach = find_reach(*columns(rows), together=together)
    found = {
        (int(row), int(reach.row[place]))
        for row, begin, stop in zip(reach.row, reach.begin, reach.stop, strict=True)
        for place in range(begin, stop)
    }
    assert found == set(matches(rows, together))


@given(rows=streams(), together=st.booleans(), first=st.integers(0, 30))
def test_matches_count_from_the_first_row_on(rows, together, first):
    expected = sum(later >= first for _, later in matches(rows, together))
    counted = counted_from(find_reach(*columns(rows), together=together), first)
    assert (counted.stop - counted.begin).sum() == expected


@pytest.mark.parametrize(
    ("side", "key"), [([0, 2], [1, 1]), ([0, 1], [[1, 1], [1, 1]])], ids=["streams", "attributes"]
)
def test_more_than_two_streams_or_keys_are_refused(side, key):
    with pytest.raises(BadInput, match="two streams and one key"):
        find_reach(side, key, [0, 1])
