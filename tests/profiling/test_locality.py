import numpy as np
import pytest

from penstock import BadInput
from penstock.profiling import Locality
from tests.profiling.streams import A, B, local


def test_samples_keep_the_popularity():
    keys = local(200_000, keys=10, alpha=0.5)
    model = Locality(A, B, np.bincount(keys) / len(keys))
    again = model.sample(200_000, seed=2)
    assert np.bincount(again) / len(again) == pytest.approx(model.popularity, abs=0.01)


def test_tuples_repeat_as_often_as_they_should():
    keys = Locality([0, 0.7], 0.3, np.full(10_000, 1e-4)).sample(50_000, seed=1)
    assert np.mean(keys[2:] == keys[:-2]) == pytest.approx(0.7, abs=0.01)
    assert np.mean(keys[1:] == keys[:-1]) < 0.01


def test_the_seed_decides():
    assert (local(100, seed=1) == local(100, seed=1)).all()
    assert (local(100, seed=1) != local(100, seed=2)).any()


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [([0.5], 0.4, [1.0]), ([-0.5], 1.5, [1.0]), ([0.5], 0.5, [0.5, 0.4]), ([0.5], 0.5, [])],
)
def test_refuses_what_is_no_distribution(a, b, p):
    with pytest.raises(BadInput, match="must be probabilities that sum to 1"):
        Locality(a, b, p)
