import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import Discrete, Now, Trend
from penstock.simulate.drifting import floor, roof, tower
from tests.naive import carried as naive


@given(
    slope=st.sampled_from([1, -1, 0.25, -2.5, 0]),
    intercept=st.integers(-8, 8).map(lambda x: x / 4),
    time=st.integers(-1, 50),
    d=st.integers(1, 30),
    off=st.integers(-3, 3),
)
def test_is_the_naive_one(slope, intercept, time, d, off):
    v = round(intercept + slope * (time + d)) + off
    model = Trend(slope, intercept, Discrete.normal(1, 2))
    slow = naive.trend(v, d, time, slope, intercept, naive.bounded_normal(1, 2))
    assert model.prob(v, d, Now(time)) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("workload", "kind", "sds"),
    [(tower, "normal", (1, 2)), (roof, "normal", (3.3, 5)), (floor, "uniform", None)],
)
def test_the_papers_streams_are_found(workload, kind, sds):
    trace = workload(3000, seed=7)
    for side, lag in ((0, 1), (1, 0)):
        fit = Trend.fit(trace.key[trace.side == side], kind)
        assert fit.model.slope == 1
        assert fit.model.intercept == -lag
        if sds:
            sd = sds[side]
            assert fit.model.noise.sd == pytest.approx(sd, abs=4 * sd / np.sqrt(6000) + 0.02)
        else:
            assert fit.model.noise.highest == (10, 15)[side]


def test_a_broken_slope_is_found():
    data = sample(Trend(-0.37, 20.4, Discrete.normal(3, 12)), 2000, seed=2)
    for kind in ("normal", "empirical"):
        fit = Trend.fit(data, kind)
        assert fit.added.value == fit.model.slope
        assert abs(fit.model.slope + 0.37) < 4 * fit.added.error
        assert fit.model.intercept == pytest.approx(20.4, abs=4 * 2 * 3 / np.sqrt(2000))


def test_uniform_noise_gives_a_narrow_line():
    data = sample(Trend(0.123, 3, Discrete.uniform(9)), 2000, seed=2)
    fit = Trend.fit(data, "uniform")
    assert fit.model.noise.highest == 9
    assert fit.model.slope == pytest.approx(0.123, abs=1e-3)


def test_counted_noise_comes_near_the_truth():
    truth = Discrete(-1, [2 / 3, 0, 1 / 3 - 0.1, 0.05, 0.05]).centred()
    fit = Trend.fit(sample(Trend(1, 0, truth), 4000, seed=5), "empirical")
    assert fit.model.noise.of(np.arange(-2, 5)) == pytest.approx(
        truth.of(np.arange(-2, 5)), abs=0.03
    )


def test_a_line_without_noise():
    fit = Trend.fit(np.arange(5, 305, 3), "uniform")
    assert (fit.model.slope, fit.model.intercept, fit.log_likelihood) == (3, 5, 0)
    with pytest.raises(BadInput, match="must lie off the line to have normal noise"):
        Trend.fit(np.arange(5, 305, 3))


def test_bad_input():
    still = Discrete.uniform(0)
    with pytest.raises(BadInput, match="slope must be a finite number, got nan"):
        Trend(float("nan"), 0, still)
    with pytest.raises(BadInput, match="intercept must be a finite number, got 'a'"):
        Trend(1, "a", still)
    with pytest.raises(BadInput, match=r"noise 'x'.*normal, uniform, empirical"):
        Trend.fit(np.arange(20), "x")
    with pytest.raises(BadInput, match="data must hold at least 10 values, got 3"):
        Trend.fit([1, 2, 3])
    with pytest.raises(BadInput, match="the residuals of the line must span at most"):
        Trend.fit([1, 2**40] * 10)
