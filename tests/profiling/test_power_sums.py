import numpy as np
import pytest

from penstock.profiling.power_sums import upto


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 1.0000001, 1.5, 7.0, 100.0])
def test_sums_are_those_of_every_rank(z):
    last = np.array([1, 7, 999, 1000, 1001, 1002, 5000, 300_000])
    rank = np.arange(1.0, 300_001)
    for power, found in enumerate(upto(last, z)):
        true = np.cumsum(rank**-z * np.log(rank) ** power)[last - 1]
        assert found == pytest.approx(true, rel=1e-11, abs=1e-12)


def test_a_single_number_will_do():
    assert upto(10**6, 0.0)[0] == pytest.approx(10**6)
    assert upto(10**12, 1.0)[0] == pytest.approx(np.log(1e12) + np.euler_gamma)
