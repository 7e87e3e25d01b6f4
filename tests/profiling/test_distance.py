import numpy as np
import pytest
from hypothesis import given

from penstock.profiling import distances, permuted
from penstock.profiling.distance import independent as by_equation
from penstock.simulate.skewed import popularity
from tests.naive import profiling as naive
from tests.profiling.streams import few_keys, independent, local


def test_worked_by_hand():
    # 7 comes again after 3, 8 after 1; 9 never.
    found = distances(np.array([7, 8, 8, 7, 9]))
    assert found.count.tolist() == [0, 1, 0, 1]
    assert found.within([0, 1, 2, 3, 99]).tolist() == [0, 0.2, 0.2, 0.4, 0.4]
    assert found.median == 1


@given(keys=few_keys)
def test_as_its_twin(keys):
    count = distances(np.array(keys)).count
    assert {k: c for k, c in enumerate(count.tolist()) if c} == naive.distances(keys)


def test_no_key_comes_again():
    found = distances(np.arange(5))
    assert found.median == 0
    assert found.within([1, 9]).tolist() == [0, 0]


def test_a_permutation_follows_equation_1():
    keys = local(100_000, keys=300)
    mixed = distances(permuted(keys, 1))
    share = np.bincount(keys) / len(keys)
    k = np.arange(1, 21)
    assert mixed.density[1:21] == pytest.approx(by_equation(share, k), rel=0.08)


def test_theorem_1_zipf_1_gives_1_over_k():
    keys = 20_000
    stream = independent(500_000, keys, alpha=1)
    density = distances(permuted(stream, 1)).density
    whole = (1 / np.arange(1, keys + 1)).sum()
    for low in (20, 50, 100, 200, 500, 1000):
        k = np.arange(low, 2 * low)
        # d(k) = 1 / (k times the sum of 1 / r), where k is neither very small nor beyond the keys
        assert (density[k] * whole).sum() == pytest.approx((1 / k).sum(), rel=0.05), low
    exact = by_equation(popularity(keys, 1), np.array([100, 1000]))
    assert exact[0] / exact[1] == pytest.approx(10, rel=0.02)


def test_locality_shortens_distances():
    keys = local(20_000)
    assert distances(keys).within(5) > 0.55 > 0.2 > distances(permuted(keys, 1)).within(5)
