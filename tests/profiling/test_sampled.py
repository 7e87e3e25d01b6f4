import numpy as np
import pytest

from penstock.profiling.sampled import Curve, SampledDistances, SampledReuse


def test_a_curve_is_read_both_ways():
    curve = Curve(
        np.array([0, 1, 4, 10]), np.array([0.0, 0.2, 0.5, 0.5]), np.array([0, 0.1, 0.2, 0.0])
    )
    reuse = SampledReuse(curve, total=100)
    assert reuse.hit_ratio([0, 1, 2, 99]).tolist() == pytest.approx([0, 0.2, 0.3, 0.5])
    assert reuse.error([0, 1, 7]).tolist() == pytest.approx([0, 0.1, 0.1])
    for part in (0.2, 0.4, 0.7, 1.0):
        size = reuse.size_for(part)
        assert reuse.hit_ratio(size) >= part * 0.5 - 1e-9 > reuse.hit_ratio(size - 1)
    assert SampledDistances(curve, total=100).median == 2


def test_nothing_comes_again():
    curve = Curve(np.array([0, 5]), np.zeros(2), np.zeros(2))
    assert SampledDistances(curve, 10).median == 0
    assert SampledReuse(curve, 10).size_for(0.9) == 0
