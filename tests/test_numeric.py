"""Each numerical method against SciPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate, optimize, special, stats

from penstock import numeric


@given(st.lists(st.floats(-37, 8), max_size=20))
def test_the_normal_distribution(x):
    assert numeric.normal_below(x) == pytest.approx(special.ndtr(x), rel=1e-12, abs=0)


def test_the_normal_distribution_keeps_shapes():
    assert numeric.normal_below(0.0) == 0.5
    grid = np.arange(6.0).reshape(2, 3).T
    assert np.allclose(numeric.normal_below(grid), special.ndtr(grid), rtol=1e-14)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 500])
@pytest.mark.parametrize("chance", [0.5, 0.05, 1e-3])
def test_the_chi_square_distribution_within_a_few_percent_of_its_quantile(freedom, chance):
    x = stats.chi2.isf(chance, freedom)
    below, above = (numeric.chi_square_above(x * by, freedom) for by in (0.96, 1.04))
    assert below > chance > above


@given(st.floats(0.5, 0.999), st.integers(1, 2000))
def test_students_distribution(share, freedom):
    expected = stats.t.ppf((1 + share) / 2, freedom)
    assert numeric.student_within(share, freedom) == pytest.approx(expected, rel=1e-7)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20))
def test_logarithms_of_factorials(n):
    expected = special.gammaln(np.asarray(n) + 1.0)
    assert numeric.log_factorial(n) == pytest.approx(expected, rel=1e-13, abs=1e-13)


@given(st.floats(0, 1e9))
def test_harmonic_numbers(n):
    expected = special.digamma(n + 1) + np.euler_gamma
    assert numeric.harmonic(n) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@given(st.floats(-2, 2), st.booleans())
def test_a_root_whether_the_function_rises_or_falls(at, rises):
    sign = 1 if rises else -1
    found = numeric.root(lambda x: sign * math.expm1(x - at), -3.0, 3.0)
    assert found == pytest.approx(at, abs=1e-12)


@given(st.floats(-2, 2), st.sampled_from([1, 2]))
def test_a_minimum_inside_or_at_an_end(at, power):
    found = numeric.minimum(lambda x: abs(x - at) ** power, -1.0, 1.0)
    assert found == pytest.approx(min(max(at, -1.0), 1.0), abs=1e-5)
    expected = optimize.minimize_scalar(
        lambda x: abs(x - at) ** power, bounds=(-1, 1), method="bounded"
    )
    assert found == pytest.approx(expected.x, abs=1e-4)


@pytest.mark.parametrize("far", [0.0, 1e9, -1e18])
@pytest.mark.parametrize("height", [0.0, math.inf])
def test_the_search_for_a_minimum_ends_where_numbers_are_coarse_or_nothing_is_lower(far, height):
    assert far - 1 <= numeric.minimum(lambda x: height, far - 1, far + 1, 1e-10) <= far + 1
    found = numeric.minimum(lambda x: abs(x - far), far - 1, far + 1, 1e-10)
    assert found == pytest.approx(far, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("points", "fine"), [(4, 4), (5, 23), (41, 81), (81, 401)])
def test_a_surface_by_splines(points, fine):
    random = np.random.default_rng(1)
    x, y = np.linspace(-3, 5, points), np.linspace(0, 1, points + 1)
    surface = random.normal(size=(points, points + 1))
    there = np.linspace(-3, 5, fine), np.linspace(0, 1, fine)
    expected = interpolate.RectBivariateSpline(x, y, surface)(*there)
    made = numeric.spline(points, fine) @ surface @ numeric.spline(points + 1, fine).T
    assert np.allclose(made, expected, atol=1e-9)
