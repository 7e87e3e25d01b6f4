import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import Now, Seasonal
from penstock.models.autoregression import find_period
from tests.naive import carried as naive

WAVES = {"period": 11.5, "mean": 4, "cosines": [5, 1], "sines": [-2, 3]}


@given(
    time=st.integers(0, 40),
    d=st.integers(1, 20),
    here=st.integers(-10, 20),
    v=st.integers(-10, 20),
    phi=st.floats(-0.9, 0.9),
)
def test_is_the_naive_one(time, d, here, v, phi):
    slow = naive.seasonal(v, d, time, here, **WAVES, phi=phi, sigma=2, unit=1)
    assert Seasonal(**WAVES, phi=phi, sigma=2).prob(v, d, Now(time, here)) == pytest.approx(
        slow, abs=1e-9
    )


def test_parameters_are_found():
    truth = Seasonal(48, 100, [20, 5], [3, 4], phi=0.6, sigma=6)
    fit = Seasonal.fit(sample(truth, 3000, seed=3), period=48)
    # Of 3000 values around the season, with deviations of sigma / (1 - phi) = 15 in the long run.
    assert fit.model.mean == pytest.approx(100, abs=4 * 15 / np.sqrt(3000))
    assert fit.model.phi == pytest.approx(0.6, abs=4 * 0.8 / np.sqrt(3000))
    assert fit.model.sigma == pytest.approx(6, abs=4 * 6 / np.sqrt(6000))
    assert fit.model.cosines == pytest.approx([20, 5], abs=4 * 15 / np.sqrt(1500))
    assert fit.model.sines == pytest.approx([3, 4], abs=4 * 15 / np.sqrt(1500))
    assert fit.free == 7


@pytest.mark.parametrize("period", [7, 24.3, 365.25])
def test_an_unknown_period_is_found(period):
    data = sample(Seasonal(period, 100, [12], [5], phi=0.5, sigma=6), 3000, seed=3)
    fit = Seasonal.fit(data)
    assert fit.model.period == pytest.approx(period, rel=0.01)
    assert fit.free == 6  # the period counts


@pytest.mark.parametrize("seed", range(8))
def test_chance_has_no_period(seed):
    random = np.random.default_rng(seed)
    for data in (random.normal(size=1000), random.normal(size=1000).cumsum()):
        with pytest.raises(BadInput, match="no period beyond chance; pass period="):
            find_period(data)


def test_bad_input():
    with pytest.raises(BadInput, match="period must be above 2 steps, got 2"):
        Seasonal(2, 0, [1], [1], 0.5, 1)
    with pytest.raises(BadInput, match="lists of one length"):
        Seasonal(9, 0, [1, 2], [1], 0.5, 1)
    with pytest.raises(BadInput, match="phi must lie between -1 and 1"):
        Seasonal(9, 0, [1], [1], 1, 1)
    with pytest.raises(BadInput, match="sigma must be a number above 0"):
        Seasonal(9, 0, [1], [1], 0.5, 0)
    data = np.arange(50) % 7
    with pytest.raises(BadInput, match="period must fit twice into the data, 50 values, got 30"):
        Seasonal.fit(data, period=30)
