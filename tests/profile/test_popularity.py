import numpy as np
import pytest

from penstock.profile.popularity import fit_zipf, power_sums
from penstock.profile.ranked import rank_keys
from penstock.simulate.skewed import popularity
from tests.profile.streams import independent


@pytest.mark.parametrize("alpha", [0.3, 0.75, 1.0, 1.5])
def test_recovers_the_exponent(alpha):
    off = []
    for seed in range(20):
        value, error = fit_zipf(rank_keys(independent(50_000, 100, alpha, seed)).counts).exponent
        off.append((value - alpha) / error)
    assert abs(np.mean(off)) < 1.5  # ranks by luck steepen it a little
    assert 0.5 < np.std(off) < 1.6


def test_is_the_likeliest():
    count = np.array([50, 20, 15, 9, 6])

    def likely(z):
        return count @ np.log(popularity(5, z))

    z = fit_zipf(count).exponent.value
    assert likely(z) > max(likely(z - 0.001), likely(z + 0.001))


def test_equal_counts_have_no_skew():
    fit = fit_zipf(np.array([5, 5, 5]))
    assert fit.exponent.value == pytest.approx(0, abs=1e-9)
    assert fit.misfit < 1e-9


def test_a_law_that_does_not_fit_shows():
    fit = fit_zipf(np.array([100] * 10 + [1] * 90))
    assert fit.misfit > 0.2
    assert fit.law(np.arange(1, 101)).sum() == pytest.approx(1)


def test_the_steepest_of_two():
    assert fit_zipf(np.array([10**9, 1])).exponent.value == pytest.approx(np.log2(1e9))


def test_keys_that_are_alike_can_be_kept_together():
    count = np.sort(rank_keys(independent(20_000, 3000, alpha=0.9)).counts)[::-1]
    often, alike = np.unique(count, return_counts=True)
    each, together = fit_zipf(count), fit_zipf(often[::-1], alike[::-1])
    assert together.exponent == pytest.approx(each.exponent)
    assert together.misfit == pytest.approx(each.misfit)
    assert (together.keys, together.total) == (len(count), 20_000)
    ranks = np.arange(1, len(count) + 1)
    assert together.share(ranks) == pytest.approx(count / 20_000)
    assert together.top(ranks) == pytest.approx(np.cumsum(count) / 20_000)


def test_a_billion_keys_need_no_table():
    fit = fit_zipf(np.array([10**6, 30, 1]), np.array([100, 10**6, 10**9]))
    assert fit.keys == 10**9 + 10**6 + 100
    assert 0 < fit.exponent.value < 1
    assert 0 < fit.misfit < 1


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 1.0000001, 1.5, 7.0, 100.0])
def test_sums_are_those_of_every_rank(z):
    last = np.array([1, 7, 999, 1000, 1001, 1002, 5000, 300_000])
    rank = np.arange(1.0, 300_001)
    for power, found in enumerate(power_sums(last, z)):
        true = np.cumsum(rank**-z * np.log(rank) ** power)[last - 1]
        assert found == pytest.approx(true, rel=1e-11, abs=1e-12)


def test_a_single_number_will_do():
    assert power_sums(10**6, 0.0)[0] == pytest.approx(10**6)
    assert power_sums(10**12, 1.0)[0] == pytest.approx(np.log(1e12) + np.euler_gamma)
