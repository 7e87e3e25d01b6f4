import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import Discrete, Walk
from penstock.simulate.drifting import walk
from tests.naive import carried as naive


@settings(max_examples=30)
@given(
    lowest=st.integers(-3, 1),
    weights=st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any),
    d=st.integers(1, 8),
    v=st.integers(-12, 12),
    here=st.integers(-3, 3),
)
def test_is_the_naive_one(lowest, weights, d, v, here):
    step = {lowest + i: w / sum(weights) for i, w in enumerate(weights)}
    model = Walk(Discrete(lowest, np.array(weights) / sum(weights)))
    assert model.prob(v, d, [here]) == pytest.approx(naive.walk(v, d, here, step), abs=1e-12)


def test_many_steps_are_nearly_normal():
    v = np.arange(-150, 151)
    p = Walk.normal(drift=0.1, sd=1).prob(v, 900, [0])
    wide = np.sqrt(900 * (1 + 1 / 12))  # rounding adds a twelfth to the variance
    normal = [naive.normal_between(x - 0.5, x + 0.5, 90, wide) for x in v]
    assert p == pytest.approx(normal, abs=1e-5)


def test_steps_in_any_order():
    model = Walk.normal(0, 1)
    d = np.array([7, 1, 3, 1])
    assert model.prob(2, d, [0]) == pytest.approx([model.prob(2, int(k), [0]) for k in d])


def test_between_whole_numbers_nothing_comes():
    model = Walk(Discrete(0, [0.5, 0.5]))
    assert model.prob([10, 11, 10.5], 1, [10]).tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("side", [0, 1])
def test_the_papers_walk_is_found(side):
    trace = walk(3000, seed=4)
    fit = Walk.fit(trace.key[trace.side == side])
    step, wide = fit.model.step, np.sqrt(1 + 1 / 12)  # rounding adds a twelfth
    assert step.mean == pytest.approx(0, abs=4 * wide / np.sqrt(2999))
    assert step.sd == pytest.approx(wide, abs=4 * wide / np.sqrt(2 * 2999))
    assert (fit.free, fit.count) == (2, 2999)


@pytest.mark.parametrize(("drift", "sd"), [(2.5, 0.4), (-0.2, 6)])
def test_drift_and_sd_are_found(drift, sd):
    fit = Walk.fit(sample(Walk.normal(drift, sd), 3000, seed=3))
    wide = np.sqrt(sd**2 + 1 / 12)
    truth = Walk.normal(drift, sd).step
    assert fit.model.step.mean == pytest.approx(truth.mean, abs=4 * wide / np.sqrt(3000))
    assert fit.model.step.sd == pytest.approx(truth.sd, abs=4 * wide / np.sqrt(6000))


def test_counted_steps():
    step = Discrete(-2, [0.3, 0, 0.2, 0.5])
    fit = Walk.fit(sample(Walk(step), 5000, seed=3), "empirical")
    assert fit.model.step.mass == pytest.approx(step.mass, abs=0.03)
    assert fit.free == 2


def test_off_its_grid():
    with pytest.raises(BadInput, match=r"a walk must be at whole numbers, got 4.5"):
        Walk.normal(0, 1).prob(4, 1, [4.5])


def test_bad_input():
    with pytest.raises(BadInput, match="sd must be a number above 0, got -1"):
        Walk.normal(0, -1)
    with pytest.raises(BadInput, match="drift must be a finite number, got inf"):
        Walk.normal(float("inf"), 1)
    with pytest.raises(BadInput, match=r"step 'x'.*normal, empirical"):
        Walk.fit(np.arange(20), "x")
    with pytest.raises(BadInput, match="different steps to be a walk, got 2 every time; use a Tr"):
        Walk.fit(np.arange(0, 40, 2))
