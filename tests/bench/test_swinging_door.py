import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.swinging_door import compress, live_misses, rebuild
from penstock.errors import BadInput
from tests.naive.swinging_door import kept_rows

SERIES = st.lists(st.tuples(st.integers(1, 5), st.integers(-20, 20)), min_size=1, max_size=60)


def columns(series):
    gaps, values = zip(*series, strict=True)
    return np.cumsum(gaps).astype(float), np.array(values, float)


@given(series=SERIES, deviation=st.sampled_from([0.0, 0.5, 1.0, 4.0, 30.0]))
def test_keeps_what_its_twin_keeps(series, deviation):
    time, value = columns(series)
    assert compress(time, value, deviation).tolist() == kept_rows(time, value, deviation)


@given(series=SERIES)
def test_without_deviation_the_line_is_the_series(series):
    time, value = columns(series)
    assert np.allclose(rebuild(time, value, compress(time, value, 0.0)), value)


def test_a_line_is_kept_as_its_ends_though_the_last_kept_value_is_far_off():
    time = np.arange(100.0)
    kept = compress(time, 3 * time, deviation=1.0)
    assert kept.tolist() == [0, 99]
    assert live_misses(3 * time, kept, deviation=1.0) == 98


@pytest.mark.parametrize(
    ("time", "deviation", "complaint"),
    [
        ([0.0, 1.0], -1, "deviation must be a number of at least 0, got -1"),
        ([0.0, 1.0], np.nan, "deviation must be a number of at least 0, got nan"),
        ([1.0, 1.0], 1, "must grow from row to row"),
        ([1.0], 1, "as many times as values, got 1, 2"),
    ],
)
def test_refuses_bad_input(time, deviation, complaint):
    with pytest.raises(BadInput, match=complaint):
        compress(np.array(time), np.array([1.0, 2.0]), deviation)
