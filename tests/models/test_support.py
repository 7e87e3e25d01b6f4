import numpy as np
import pytest

from penstock.models import Now
from tests.models.test_contract import ALL, HISTORY


@ALL
@pytest.mark.parametrize("most", [1, 4])
def test_holds_all_that_may_come(model, most):
    values = model.support(most, HISTORY)
    assert (np.diff(values) > 0).all()
    for d in range(1, most + 1):
        assert model.prob(values, d, HISTORY).sum() == pytest.approx(1, abs=1e-12)


@ALL
def test_the_end_of_a_history_will_do(model):
    at = Now(len(HISTORY) - 1, HISTORY[-1])
    assert model.support(3, at).tolist() == model.support(3, HISTORY).tolist()
