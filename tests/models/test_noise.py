import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.models import Discrete, Trend
from tests.naive import carried as naive

MASSES = st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any)


def made(lowest, weights):
    return Discrete(lowest, np.array(weights) / sum(weights))


@given(lowest=st.integers(-5, 5), weights=MASSES)
def test_sums_and_moments(lowest, weights):
    noise = made(lowest, weights)
    table = {lowest + i: w / sum(weights) for i, w in enumerate(weights)}
    mean = sum(x * p for x, p in table.items())
    assert noise.mean == pytest.approx(mean)
    assert noise.sd**2 == pytest.approx(sum((x - mean) ** 2 * p for x, p in table.items()))
    for x in range(lowest - 2, noise.highest + 3):
        assert noise.of(x) == table.get(x, 0)


@pytest.mark.parametrize(("sd", "bound"), [(1, 10), (5, 15), (0.4, 2)])
def test_normal_is_the_naive_one(sd, bound):
    table = naive.bounded_normal(sd, bound)
    assert Discrete.normal(sd, bound).mass == pytest.approx([table[x] for x in sorted(table)])


def test_rounded_normal():
    noise = Discrete.rounded(2.3, 1.7)
    for x in range(-4, 9):
        assert noise.of(x) == pytest.approx(naive.normal_between(x - 0.5, x + 0.5, 2.3, 1.7))


@given(lowest=st.integers(-6, -1), weights=st.lists(st.integers(0, 9), min_size=8, max_size=9))
def test_centred_has_no_mean(lowest, weights):
    weights[0] += 1  # something on each side of 0
    weights[-1] += 1
    noise = made(lowest, weights).centred()
    assert noise.mean == pytest.approx(0, abs=1e-9)
    assert ((noise.mass > 0) == (np.array(weights) > 0)).all()


def test_centred_is_likelier_than_its_neighbours():
    seen = made(-1, [1, 5, 3, 1])
    best = seen.centred()
    for nudge in ([1, -2, 1, 0], [0, 1, -2, 1], [2, -3, 0, 1]):  # keep mass and mean
        for size in (1e-3, -1e-3):
            other = best.mass + size * np.array(nudge)
            assert seen.mass @ np.log(other) < seen.mass @ np.log(best.mass)


def test_draws_follow_the_mass():
    noise = Discrete(-1, [0.2, 0, 0.5, 0.3])
    drawn = noise.draw(np.random.default_rng(1), 20000)
    share = np.bincount(drawn + 1, minlength=4) / 20000
    assert share == pytest.approx(noise.mass, abs=0.02)
    assert share[1] == 0


def test_mass_that_misses_one():
    with pytest.raises(BadInput, match=r"mass must sum to one, got 0.9; divide it by its sum"):
        Discrete(0, [0.5, 0.4])
    Discrete(0, [0.5, 0.5 + 1e-12])


@pytest.mark.parametrize("mass", [[1.5, -0.5], [float("nan"), 1]])
def test_mass_below_zero(mass):
    with pytest.raises(BadInput, match="mass must not be negative"):
        Discrete(0, mass)


@pytest.mark.parametrize("mass", [[], [[1]]])
def test_no_mass(mass):
    with pytest.raises(BadInput, match="mass must be a list of probabilities"):
        Discrete(0, mass)


@pytest.mark.parametrize("sd", [0, -1, float("nan"), float("inf")])
def test_bad_sd(sd):
    with pytest.raises(BadInput, match="sd of the noise must be a number above 0"):
        Discrete.normal(sd, 10)
    with pytest.raises(BadInput, match="sd must be a number above 0"):
        Discrete.rounded(0, sd)


@pytest.mark.parametrize("bound", [-1, 1.5])
def test_bad_bound(bound):
    with pytest.raises(BadInput, match="bound of the noise must be a whole number of at least 0"):
        Discrete.uniform(bound)


def test_bad_samples():
    for samples in ([], [0.5]):
        with pytest.raises(BadInput, match="samples must be one or more whole numbers"):
            Discrete.empirical(samples)
    with pytest.raises(BadInput, match="samples must span at most 4194304 units"):
        Discrete.empirical([0, 2**40])


def test_noise_with_a_mean():
    with pytest.raises(BadInput, match=r"noise must have a mean of zero, got 0.5; use noise.cent"):
        Trend(1, 0, Discrete(0, [0.5, 0.5]))
    with pytest.raises(BadInput, match=r"noise must lie on both sides of 0 .*, got 1 to 2"):
        Discrete(1, [0.5, 0.5]).centred()
