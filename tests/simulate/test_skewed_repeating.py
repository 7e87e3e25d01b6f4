"""Streams of the locality model as a workload; for the model see tests/profile."""

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.simulate.skewed import falling, locality


def shared(trace, lag=1):
    """Return how often a tuple of the right has the key of the left's, so many steps before."""
    left, right = trace.key[0::2], trace.key[1::2]
    return float(np.mean(right[lag:] == left[:-lag]))


def test_dealt_streams_repeat_each_other_and_others_do_not():
    assert shared(locality(20_000, seed=1)) > 0.03
    assert shared(locality(20_000, seed=1, dealt=False)) == pytest.approx(1 / 500, abs=0.002)


def test_the_weights_fall():
    model = falling(b=0.2, h=3, fall=1, domain=5, alpha=1)
    assert model.a == pytest.approx(0.8 * np.exp([-1, -2, -3]) / np.exp([-1, -2, -3]).sum())
    assert model.popularity[0] == pytest.approx(5 * model.popularity[4])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"b": 1.5}, "b must be from 0 to 1, got 1.5"), ({"fall": 0}, "fall must be above 0, got 0")],
)
def test_bad_parameters(wrong, said):
    with pytest.raises(BadInput, match=said):
        locality(10, seed=1, **wrong)
