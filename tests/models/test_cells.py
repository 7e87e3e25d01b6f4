import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.models.cells import find_unit, numbers, to_cells, whole_numbers


@given(
    cells=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=20),
    unit=st.sampled_from([1, 0.1, 0.01, 0.25, 5, 1 / 3]),
)
def test_there_and_back(cells, unit):
    back, on = to_cells(np.array(cells) * unit, unit)
    assert back.tolist() == cells
    assert on.all()


@given(cells=st.lists(st.integers(-(10**4), 10**4), min_size=2, max_size=20))
def test_the_unit_found_divides_all(cells):
    values = np.array(cells) / 100
    unit = find_unit("data", values)
    assert unit >= 0.0099
    assert to_cells(values, unit)[1].all()


def test_short_floats_are_on_their_cells():
    few = np.array([20.7, 31.2], np.float32)
    cell, on = to_cells(few, find_unit("key", few))
    assert (cell.tolist(), on.all()) == ([69, 104], True)  # of 0.3


def test_large_integers_stay_exact():
    big = 2**60 + 1
    assert to_cells(big, 1)[0] == big


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", "b"], "data must be numeric, got 'a'; .* number such keys first"),
        ([None, 1], "data must be numeric, got None"),
        ([True, False], "data must be numeric, got True"),
        ([1.0, float("inf")], "data must hold finite numbers, got inf at place 1"),
        ([[1, 2], [3, 4]], "data must be one column of numbers, got 2 dimensions"),
        ([[1], [3, 4]], "data must be one column of numbers"),
        (np.array([2**63], np.uint64), "data must fit in 64 bits with a sign"),
    ],
)
def test_not_numbers(data, message):
    with pytest.raises(BadInput, match=message):
        numbers("data", data)


def test_between_two_cells():
    with pytest.raises(BadInput, match=r"data must be whole numbers, got 1.2 at place 1"):
        whole_numbers([1.0, 1.2])
    with pytest.raises(BadInput, match="finer than 1e-06; round them"):
        find_unit("key", [0.1234567, 0.2])


def test_names_rather_than_numbers():
    with pytest.raises(BadInput, match="such keys are names rather than numbers"):
        whole_numbers([2**62, 1])
