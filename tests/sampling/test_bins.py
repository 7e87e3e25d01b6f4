from hypothesis import given
from hypothesis import strategies as st

from penstock.sampling.bins import BINS, LAST, LONGEST, bin_of


@given(distance=st.integers(0, 2**60))
def test_a_distance_lies_in_its_bin(distance):
    number = int(bin_of(distance))
    assert 0 <= number < BINS
    first = int(LAST[number - 1]) + 1 if number else 0
    inside = min(distance, LONGEST)
    assert first <= inside <= LAST[number]
    assert LAST[number] - first <= max(0, first / 64)


def test_bins_leave_no_gap():
    assert LAST[0] == 0
    assert LAST[-1] == LONGEST
    assert bin_of(LAST).tolist() == list(range(BINS))
    assert bin_of(LAST[:-1] + 1).tolist() == list(range(1, BINS))
