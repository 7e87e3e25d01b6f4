import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.theory.benefit import DEPENDENT, caching, joining
from penstock.errors import BadInput
from penstock.models import (
    Ar1,
    Discrete,
    Now,
    Seasonal,
    Stationary,
    Trend,
    Walk,
)
from tests.models.futures import assert_frequency, futures
from tests.models.known import Known
from tests.models.test_contract import ALL, HISTORY, MODELS
from tests.naive import carried as naive

AHEAD = np.arange(1, 11)
VALUES = np.arange(-6, 16)
INDEPENDENT = [model for model in MODELS.values() if not isinstance(model, DEPENDENT)]


@ALL
def test_joining_is_the_sum_of_probabilities(model):
    for v in VALUES:
        slow = naive.joining([float(model.prob(v, int(d), HISTORY)) for d in AHEAD])
        assert joining(model, v, AHEAD, HISTORY) == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("model", INDEPENDENT, ids=lambda model: model.family)
def test_caching_of_independent_values_is_the_first_of_them(model):
    for v in VALUES:
        slow = naive.caching([float(model.prob(v, int(d), HISTORY)) for d in AHEAD])
        assert caching(model, v, AHEAD, HISTORY) == pytest.approx(slow, abs=1e-12)


@ALL
def test_both_grow_and_caching_stays_below(model):
    both = joining(model, VALUES[:, None], AHEAD, HISTORY)
    once = caching(model, VALUES[:, None], AHEAD, HISTORY)
    assert both.shape == once.shape == (22, 10)
    assert (np.diff(both, axis=1) >= -1e-12).all()
    assert (np.diff(once, axis=1) >= -1e-12).all()
    assert (once <= np.minimum(both, 1) + 1e-12).all()
    first = model.prob(VALUES, 1, HISTORY)
    assert both[:, 0] == pytest.approx(first)
    assert once[:, 0] == pytest.approx(first)


@ALL
def test_as_counted_in_samples(model):
    if isinstance(model, Known):
        return
    seen = futures(model, HISTORY, 8)[:, :, None] == VALUES
    referenced = seen.any(axis=1).mean(axis=0)
    assert_frequency(referenced, caching(model, VALUES, 8, HISTORY), len(seen))
    matches = seen.sum(axis=1)
    error = matches.std(axis=0) / np.sqrt(len(seen))
    off = matches.mean(axis=0) - joining(model, VALUES, 8, HISTORY)
    assert (np.abs(off) <= 5 * error + 2 / len(seen)).all()


@settings(max_examples=30)
@given(
    lowest=st.integers(-2, 1),
    weights=st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any),
    d=st.integers(1, 8),
    v=st.integers(-6, 6),
)
def test_first_visits_of_a_walk_are_exact(lowest, weights, d, v):
    step = {lowest + i: w / sum(weights) for i, w in enumerate(weights)}
    model = Walk(Discrete(lowest, np.array(weights) / sum(weights)))
    slow = naive.walk_visits(v, d, 0, step)
    assert caching(model, v, d, [0]) == pytest.approx(slow, abs=1e-12)


def test_a_walk_is_not_as_if_its_values_were_independent():
    model = Walk.normal(0, 1)
    p = [float(model.prob(0, int(d), [0])) for d in range(1, 41)]
    assert naive.caching(p)[-1] > caching(model, 0, 40, [0]) + 0.05


@pytest.mark.parametrize(
    "model",
    [
        Ar1(1, 0.8, 1.5),
        Seasonal(12, 5, [4], [1], phi=0.8, sigma=1.5),
    ],
    ids=["ar1", "seasonal"],
)
def test_the_half_unit_of_an_autoregression_matters_little(model):
    # A sigma of one and a half units is coarse; still within the noise of 3000 runs.
    seen = futures(model, [4], 30)[:, :, None] == VALUES
    assert_frequency(seen.any(axis=1).mean(axis=0), caching(model, VALUES, 30, [4]), len(seen))


def test_uniform_noise_as_in_section_7_3():
    w, now = 10, 100
    model = Trend(1, 0, Discrete.uniform(w))
    for v in range(now - w - 3, now + w + 1):
        passed = max(v + w + 1, now)  # the first step whose window has left v behind
        for d in (1, 3, 50):
            chances = max(min(d, passed - now - 1), 0)
            wanted = 1 - (1 - 1 / (2 * w + 1)) ** chances
            assert caching(model, v, d, Now(now)) == pytest.approx(wanted)


@pytest.mark.parametrize("slope", [1, -1])
def test_passing_a_value_far_ahead(slope):
    # The window meets every value once with each noise: one match in the long run.
    model = Trend(slope, 0, Discrete.normal(3, 9))
    assert joining(model, slope * 500, 10**6, Now(3)) == pytest.approx(1)
    assert joining(model, -slope * 500, 10**6, Now(3)) == 0
    assert joining(model, 0.5, 5, Now(3)) == 0


def test_stationary_far_ahead():
    model = Stationary([1, 2], [1e-6, 1 - 1e-6])
    assert joining(model, 1, 10**9, []) == pytest.approx(1000)
    assert caching(model, 1, 10**6, []) == pytest.approx(1 - np.exp(-1), abs=1e-6)


def test_the_known_future_says_when():
    model = Known([1, 2, 3, 2])
    assert joining(model, 2, [1, 2, 3], [1]).tolist() == [1, 1, 2]
    assert caching(model, [2, 3, 9], 2, [1]).tolist() == [1, 1, 0]


def test_bad_input():
    model = Walk.normal(0, 1)
    several = Now(np.array([1, 2]), np.array([0, 0]))
    for benefit in (joining, caching):
        with pytest.raises(BadInput, match="history must be one history"):
            benefit(model, 0, 1, several)
        with pytest.raises(BadInput, match=r"d .steps ahead. must be a whole number of at least 1"):
            benefit(model, 0, 0, [0])
        with pytest.raises(BadInput, match="history of a walk model must end with"):
            benefit(model, 0, 1, [])
        with pytest.raises(BadInput, match="at most 67108864 probabilities at once"):
            benefit(model, 0, 10**8, [0])
        assert benefit(model, [], 1, [0]).shape == (0,)
