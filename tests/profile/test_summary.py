import numpy as np
import pytest

from penstock.profile.ranked import permuted
from penstock.profile.stream_profile import profile
from penstock.profile.summary import rows, verdict
from penstock.simulate.skewed import popularity
from tests.profile.streams import local


def test_locality_is_named():
    assert verdict(profile(local(20_000))).startswith(
        "most rows (60%) repeat one of the last 5 rows"
    )


def test_popularity_is_named():
    made = profile(permuted(local(20_000), 1))
    assert verdict(made).startswith("keys are repeated because they are popular")


def test_order_beyond_the_horizon_is_named():
    loop = np.tile(np.random.default_rng(1).permutation(400), 20)
    said = verdict(profile(loop))
    assert "the order of the keys is not random" in said
    assert "is repeated is 400 rows" in said


@pytest.mark.parametrize("times", [None, np.arange(5000)])
def test_every_line_has_a_value(times):
    lines = rows(profile(local(5000), times))
    assert all(row.what and row.value for row in lines)
    assert ("Arrival rate" in {row.part for row in lines}) == (times is not None)


def test_what_chance_alone_makes_is_no_locality():
    # A model of 24 weights finds something in any stream of 17 keys, in random order too.
    steep = np.random.default_rng(1).choice(20, 5000, p=popularity(20, 3.0))
    made = profile(steep)
    assert made.likelihood.b < 0.95
    assert verdict(made).startswith("keys are repeated because they are popular")


def test_one_row_is_said_in_the_singular():
    assert verdict(profile([1, 2, 1, 2, 3])).startswith("the preceding row says little")
