import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.models import Stationary


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=60))
def test_counts_values(data):
    fit = Stationary.fit(data)
    for v in range(-51, 52):
        assert fit.model.prob(v, 1, data) == pytest.approx(data.count(v) / len(data))
    slow = sum(np.log(data.count(v) / len(data)) for v in data[1:])
    assert fit.log_likelihood == pytest.approx(slow)
    assert (fit.free, fit.count) == (len(set(data)) - 1, len(data) - 1)


def test_order_of_values_does_not_matter():
    assert Stationary([3, 1], [0.9, 0.1]).prob([1, 3], 1, []).tolist() == [0.1, 0.9]


@pytest.mark.parametrize("sd", [12, 0.8])
def test_normal_is_found(sd):
    data = np.rint(np.random.default_rng(1).normal(40, sd, 20000)).astype(int)
    fit = Stationary.fit(data, "normal")
    values, chance = fit.model.values, fit.model.probabilities
    mean = values @ chance
    assert mean == pytest.approx(40, abs=4 * sd / np.sqrt(20000))
    wide = np.sqrt((values - mean) ** 2 @ chance - 1 / 12)  # rounding adds a twelfth
    assert wide == pytest.approx(sd, abs=4 * sd / np.sqrt(40000))
    assert fit.free == 2


def test_uniform_is_found():
    data = np.random.default_rng(1).integers(10, 31, 1000)
    fit = Stationary.fit(data, "uniform")
    assert (fit.model.values[0], fit.model.values[-1]) == (10, 30)
    assert fit.model.prob(23, 1, []) == pytest.approx(1 / 21)


@pytest.mark.parametrize(
    ("values", "probabilities", "message"),
    [
        ([1, 1], [0.5, 0.5], "values must differ, got 1 twice"),
        ([1, 2], [1.0], "probabilities must be 2, one per value, got 1"),
        ([1, 2], [0.5, 0.6], "mass must sum to one, got 1.1"),
        (["a", "b"], [0.5, 0.5], "values must be numeric, got 'a'"),
    ],
)
def test_bad_tables(values, probabilities, message):
    with pytest.raises(BadInput, match=message):
        Stationary(values, probabilities)


def test_bad_fits():
    with pytest.raises(BadInput, match=r"kind 'x'.*empirical, normal, uniform"):
        Stationary.fit([1, 2], "x")
    with pytest.raises(BadInput, match="data must hold at least 2 values, got 1"):
        Stationary.fit([1])
    with pytest.raises(BadInput, match="data must vary by more than 1 to look normal"):
        Stationary.fit([1, 1, 1], "normal")
