import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.tsa.ar_model import AutoReg

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import Ar1
from tests.naive import carried as naive


@given(
    phi0=st.floats(-5, 5),
    phi1=st.floats(-0.95, 0.95),
    sigma=st.floats(0.5, 9),
    d=st.integers(1, 12),
    here=st.integers(-20, 20),
    v=st.integers(-20, 20),
)
def test_is_the_naive_one(phi0, phi1, sigma, d, here, v):
    slow = naive.ar1(v, d, here, phi0, phi1, sigma, 1)
    assert Ar1(phi0, phi1, sigma).prob(v, d, [here]) == pytest.approx(slow, abs=1e-9)


def test_far_ahead_the_past_is_forgotten():
    model = Ar1(2, 0.8, 3)
    v = np.arange(-20, 40)
    assert model.prob(v, 200, [500]) == pytest.approx(model.prob(v, 200, [0]))
    slow = [naive.normal_between(x - 0.5, x + 0.5, 10, 5) for x in v]  # 3 / sqrt(1 - 0.64)
    assert model.prob(v, 200, [0]) == pytest.approx(slow, abs=1e-9)


def test_a_long_sample_has_the_long_run_moments():
    x = sample(Ar1(2, 0.8, 3), 40000, seed=1)
    assert x.mean() == pytest.approx(10, abs=0.4)
    assert x.std() == pytest.approx(5, abs=0.2)
    first = [sample(Ar1(2, 0.8, 3), 1, seed)[0] for seed in range(2000)]
    assert np.std(first) == pytest.approx(5, abs=0.4)


@pytest.mark.parametrize("phi1", [0.7, -0.4, 0.95])
def test_parameters_are_found(phi1):
    fit = Ar1.fit(sample(Ar1(3, phi1, 4), 3000, seed=6))
    model, error = fit.model, fit.added.error
    assert abs(model.phi1 - phi1) < 4 * error
    assert abs(model.mean - 3 / (1 - phi1)) < 4 * 4 / (1 - phi1) / np.sqrt(3000)
    assert abs(model.sigma - 4) < 4 * 4 / np.sqrt(2 * 3000)
    assert (fit.free, fit.count) == (3, 2999)


def test_the_same_fit_as_statsmodels():
    data = sample(Ar1(3, 0.7, 4), 500, seed=2)
    ours, theirs = Ar1.fit(data), AutoReg(data.astype(float), 1).fit()
    assert (ours.model.phi0, ours.model.phi1) == pytest.approx(tuple(theirs.params))
    assert ours.added == pytest.approx((theirs.params[1], theirs.bse[1]), rel=0.01)
    assert ours.model.sigma == pytest.approx(np.sqrt(theirs.sigma2 - 1 / 12), rel=1e-6)


@pytest.mark.parametrize("phi1", [1, -1, 1.5])
def test_no_way_back(phi1):
    with pytest.raises(BadInput, match=r"phi1 must lie between -1 and 1, got .*; at 1 it is a W"):
        Ar1(0, phi1, 1)
    Ar1(0, phi1 * 0.66, 1)


def test_bad_input():
    with pytest.raises(BadInput, match="sigma must be a number above 0, got -2"):
        Ar1(0, 0.5, -2)
    with pytest.raises(BadInput, match="phi0 must be a finite number, got nan"):
        Ar1(float("nan"), 0.5, 1)
    with pytest.raises(BadInput, match="data must vary, got 4 every time"):
        Ar1.fit([4] * 20)
    with pytest.raises(BadInput, match=r"phi1 of the data must lie between -1 and 1, got 1.09984"):
        Ar1.fit(np.rint(10 * 1.1 ** np.arange(40)).astype(int))
    with pytest.raises(BadInput, match="sigma of at least a quarter, got"):
        Ar1.fit([0, 1] * 20)
