import pytest

from papers.theory.recovery import recover
from penstock.profile.locality import Locality
from penstock.simulate.skewed import popularity
from tests.profile.streams import A, B


@pytest.mark.parametrize(("keys", "alpha"), [(50, 0.0), (500, 1.0), (10_000, 1.0)])
def test_likelihood_recovers_better_than_least_squares(keys, alpha):
    model = Locality(A, B, popularity(keys, alpha))
    squares, likelihood = recover(model, 20_000, seeds=range(3))
    assert (squares.estimator, likelihood.estimator) == ("least squares", "likelihood")
    assert likelihood.b < min(squares.b, 0.01)
    assert likelihood.a < min(squares.a, 0.02)
