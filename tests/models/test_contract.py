"""What every model must keep, whatever its family."""

import pickle

import numpy as np
import pytest

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import (
    Ar1,
    Discrete,
    Model,
    Now,
    Seasonal,
    Stationary,
    Trend,
    Walk,
    log_likelihood,
)
from tests.models.futures import assert_frequency, futures
from tests.models.known import Known

HISTORY = [3, 4, 2]
# Wide enough to hold all the mass of every model at ten steps ahead.
AROUND = np.arange(-300, 301)

MODELS = {
    "stationary": Stationary([1, 5, 6], [0.2, 0.5, 0.3]),
    "trend, normal": Trend(1, 0.3, Discrete.normal(sd=2, bound=6)),
    "trend, uniform": Trend(-0.7, 2, Discrete.uniform(4)),
    "trend, lopsided": Trend(2, 0, Discrete(-1, [2 / 3, 0, 0, 1 / 3])),
    "walk, normal": Walk.normal(drift=0.4, sd=1.5),
    "walk, lopsided": Walk(Discrete(-1, [0.6, 0.1, 0, 0.3])),
    "ar1": Ar1(2, 0.7, 3),
    "ar1, turning": Ar1(2, -0.5, 3),
    "seasonal": Seasonal(7, 4, [5, 1], [2, 0], phi=0.6, sigma=3),
    "known": Known([*HISTORY, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8]),
}
ALL = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
FORGETFUL = ("stationary", "trend", "known")


@ALL
def test_offers_what_a_model_must(model):
    assert isinstance(model, Model)


@ALL
@pytest.mark.parametrize("d", [1, 2, 10])
def test_masses_sum_to_one(model, d):
    p = model.prob(AROUND, d, HISTORY)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    assert (p >= 0).all()


@ALL
def test_agrees_with_its_own_samples(model):
    runs = 1 if isinstance(model, Known) else 3000
    seen = futures(model, HISTORY, 5, runs)
    for d in (1, 2, 5):
        share = (seen[:, d - 1, None] == AROUND).mean(axis=0)
        assert_frequency(share, model.prob(AROUND, d, HISTORY), runs)


@ALL
def test_values_and_steps_broadcast(model):
    v, d = np.arange(-3, 9), np.array([1, 2, 4])
    table = model.prob(v[:, None], d, HISTORY)
    assert table.shape == (12, 3)
    one_by_one = [[model.prob(int(x), int(k), HISTORY) for k in d] for x in v]
    assert table == pytest.approx(np.array(one_by_one), abs=1e-14)
    assert np.ndim(model.prob(3, 1, HISTORY)) == 0


@ALL
def test_the_end_of_a_history_is_enough(model):
    end = Now(2, 2)
    assert np.array_equal(model.prob(AROUND, 3, HISTORY), model.prob(AROUND, 3, end))


@ALL
def test_several_histories_at_once(model):
    ends = Now(np.array([0, 2]), np.array([3, 2]))
    both = model.prob(AROUND[:, None], 2, ends)
    assert both[:, 0] == pytest.approx(model.prob(AROUND, 2, HISTORY[:1]))
    assert both[:, 1] == pytest.approx(model.prob(AROUND, 2, HISTORY))


@ALL
def test_same_seed_same_sample(model):
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(sample(model, 6, 5), sample(again, 6, 5))
    assert sample(model, 0, 5).shape == (0,)


@ALL
def test_log_likelihood_is_the_sum_over_steps(model):
    data = sample(model, 8, seed=2)
    slow = sum(
        np.log(model.prob(data[t], 1, data[:t])) for t in range(1, len(data))
    )  # one prefix after the other
    assert log_likelihood(model, data) == pytest.approx(slow)


@ALL
def test_off_the_grid_nothing_happens(model):
    assert model.prob(4.5, 1, HISTORY) == 0


@ALL
def test_no_history_where_one_is_needed(model):
    if model.family in FORGETFUL:
        assert 0 <= model.prob(3, 1, []) <= 1
        return
    with pytest.raises(BadInput, match=r"history of a \w+ model must end with the current value"):
        model.prob(3, 1, [])
    with pytest.raises(BadInput, match="pass the values so far, or Now"):
        model.prob(3, 1, Now(4))


@ALL
@pytest.mark.parametrize("d", [0, -1, 1.5, "1"])
def test_bad_steps(model, d):
    with pytest.raises(BadInput, match=r"d \(steps ahead\) must be a whole number of at least 1"):
        model.prob(3, d, HISTORY)


@ALL
def test_bad_values(model):
    with pytest.raises(BadInput, match=r"v \(value of a key\) must be numeric, got 'x'"):
        model.prob("x", 1, HISTORY)
    with pytest.raises(BadInput, match="length must be a whole number of at least 0, got -1"):
        sample(model, -1, 0)


@ALL
def test_bad_histories(model):
    with pytest.raises(BadInput, match="history must be numeric, got 'a'"):
        model.prob(3, 1, ["a"])
    with pytest.raises(BadInput, match="history must hold finite numbers, got nan at place 1"):
        model.prob(3, 1, [1, float("nan")])
    with pytest.raises(BadInput, match="time of the history must be a whole number"):
        model.prob(3, 1, Now(1.5, 2))
    with pytest.raises(BadInput, match="value of the history must be numeric, got 'a'"):
        model.prob(3, 1, Now(1, "a"))


@ALL
def test_says_what_it_is(model):
    assert repr(model).startswith(type(model).__name__ + "(")
