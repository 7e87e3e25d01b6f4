"""The certain future."""

import pytest

from penstock.errors import BadInput
from penstock.models import Now
from tests.models.known import Known


def test_what_comes_is_certain():
    future = Known([5, 7, 7, 2])
    assert future.prob(7, [1, 2, 3, 4], history=[5]).tolist() == [1, 1, 0, 0]
    assert future.prob([5, 7], 1, history=[]).tolist() == [1, 0]
    assert future.sample(2, 0, history=[5]).tolist() == [7, 7]


def test_words_beyond_and_other_pasts():
    future = Known([5, 7])
    with pytest.raises(BadInput, match="length must be at most 1, got 2; no more values are known"):
        future.sample(2, 0, history=[5])
    with pytest.raises(BadInput, match="must agree with the known values, got 6 at step 0"):
        future.prob(7, 1, history=[6])
    with pytest.raises(BadInput, match="must agree with the known values"):
        future.prob(7, 1, Now(9, 5))
