import numpy as np
import pytest

from papers.theory.sampling import sample
from penstock.errors import BadInput
from penstock.models import Ar1, Discrete, Seasonal, Trend, Walk, best
from penstock.models.choice import fits_of, is_consistent
from penstock.simulate.drifting import floor, roof, tower, walk
from penstock.simulate.workloads import GENERATED


def side(trace, which):
    return trace.key[trace.side == which]


STREAMS = {
    "tower": (lambda seed: side(tower(2000, seed), seed % 2), "trend (normal noise)"),
    "roof": (lambda seed: side(roof(2000, seed), seed % 2), "trend (normal noise)"),
    "floor": (lambda seed: side(floor(2000, seed), seed % 2), "trend (uniform noise)"),
    "walk": (lambda seed: side(walk(2000, seed), seed % 2), "walk (normal steps)"),
    "drifting walk": (lambda seed: sample(Walk.normal(0.5, 3), 2000, seed), "walk (normal steps)"),
    "leaping walk": (
        lambda seed: sample(Walk(Discrete(-9, [0.5, *[0] * 17, 0.5])), 2000, seed),
        "walk (empirical steps)",
    ),
    "ar1": (lambda seed: sample(Ar1(55.9, 0.72, 42.3), 2000, seed), "ar1"),
    "turning ar1": (lambda seed: sample(Ar1(5, -0.5, 4), 2000, seed), "ar1"),
    "season": (
        lambda seed: sample(Seasonal(48, 100, [20, 5], [3, 4], 0.6, 6), 2000, seed),
        "seasonal (period 4",
    ),
    "zipf": (
        lambda seed: GENERATED["zipf"].references(2000, seed, pareto=None).key,
        "stationary (empirical)",
    ),
    "long tail": (
        lambda seed: GENERATED["zipf"].references(2000, seed, pareto=None, domain=1000).key,
        "stationary (empirical)",
    ),
    "dice": (
        lambda seed: np.random.default_rng(seed).integers(0, 500, 2000),
        "stationary (uniform)",
    ),
    "waiting times": (
        lambda seed: np.rint(np.random.default_rng(seed).exponential(1000, 2000)),
        "stationary (empirical)",
    ),
    "names": (
        lambda seed: np.random.default_rng(seed).integers(0, 2**60, 2000),
        "stationary (empirical)",
    ),
    "line": (lambda seed: np.arange(seed, 300, 2), "trend (empirical noise)"),
    "noise far from whole": (
        lambda seed: sample(Trend(0.3, 0, Discrete(-4, [0.5, *[0] * 7, 0.5])), 2000, seed),
        "trend (empirical noise)",
    ),
}


@pytest.mark.parametrize("seed", [2, 5])
@pytest.mark.parametrize(("stream", "name"), STREAMS.values(), ids=STREAMS)
def test_recognises(stream, name, seed):
    assert best(stream(seed)).name.startswith(name)


def test_the_plainer_of_near_equals():
    # This walk looks a little more like an AR(1): phi1 below 1 suits it better by chance.
    data = sample(Walk.normal(0, 1), 1000, seed=12)
    chosen, other = best(data), Ar1.fit(data)
    assert chosen.name == "walk (normal steps)"
    assert other.bic < chosen.bic < other.bic + 6
    assert chosen.free < other.free


def test_a_given_period_is_used():
    data = sample(Seasonal(48, 100, [20], [3], 0.6, 6), 1000, seed=1)
    fit = best(data, period=48)
    assert fit.model.period == 48


def test_all_fits_are_of_the_same_data():
    fits = fits_of(sample(Ar1(3, 0.8, 5), 1000, seed=1))
    assert len(fits) >= 8
    assert {fit.count for fit in fits} == {999}
    for fit in fits:
        assert fit.bic == pytest.approx(fit.free * np.log(999) - 2 * fit.log_likelihood)


def test_what_a_walk_contradicts_is_not_chosen():
    data = sample(Walk.normal(0, 1), 1000, seed=1)
    consistent = {fit.name for fit in fits_of(data) if is_consistent(fit, data)}
    assert best(data).name in consistent
    assert not any(name.startswith("seasonal") for name in consistent)
    noise = np.random.default_rng(1).integers(0, 500, 1000)
    consistent = {fit.model.family for fit in fits_of(noise) if is_consistent(fit, noise)}
    assert consistent == {"stationary"}


def test_independent_values_are_stationary():
    fit = best(GENERATED["zipf"].references(2000, 1, pareto=None).key)
    assert fit.model.family == "stationary"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.arange(49), "data must hold at least 50 values, got 49"),
        ([7] * 100, "data must vary, got 7 every time"),
        (["a", "b"] * 50, "data must be numeric, got 'a'"),
        ([1.0] * 99 + [float("nan")], "data must hold finite numbers, got nan at place 99"),
        (np.random.default_rng(1).random(100), "data must be whole numbers, got 0."),
    ],
)
def test_streams_that_cannot_be_fitted(data, message):
    with pytest.raises(BadInput, match=message):
        best(data)


def test_bad_options():
    with pytest.raises(BadInput, match="period must be above 2 steps, got 1"):
        best(np.arange(100), period=1)
