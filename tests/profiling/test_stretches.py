import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profiling import Weights, rank_keys
from penstock.profiling.entropy import conditional
from penstock.profiling.likelihood import likeliest
from penstock.profiling.squares import squares_each
from penstock.profiling.stretches import link, whole
from tests.profiling.streams import A, B, local

few = st.lists(st.integers(0, 5), min_size=4, max_size=40)


@given(few, few)
def test_nothing_is_seen_across_a_border(one, two):
    key = np.array(one + two)
    starts = np.array([0, len(one), len(key)])
    known = link(key, starts, np.ones(6) / 6, np.arange(6.0), 1.0)
    alone = [whole(np.array(part)).before.tolist() for part in (one, two)]
    assert [each.before.tolist() for each in known.each()] == alone
    told = known.after_first(3)
    assert told.tolist() == [i >= 3 for part in (one, two) for i in range(len(part))]


def test_some_stretches_tell_what_the_whole_tells():
    stream = rank_keys(local(100_000)).rank
    everything = whole(stream)
    starts = np.arange(0, 100_000, 10_000)
    parts = [stream[start : start + 4000] for start in starts]
    some = link(
        np.concatenate(parts), np.arange(0, 40_001, 4000), everything.share, everything.rank,
        everything.mean,
    )  # fmt: skip
    weights = likeliest(some, 5)
    assert weights.b == pytest.approx(B, abs=0.02)
    assert weights.a == pytest.approx(A, abs=0.02)
    squares = [squares_each(known, [5])[0].b for known in (some, everything)]
    assert squares[0] == pytest.approx(squares[1], abs=0.05)
    bits = [conditional(known, Weights(A, B)) for known in (some, everything)]
    assert bits[0] == pytest.approx(bits[1], abs=0.05)


def test_refuses_to_look_back_further_than_a_stretch():
    known = link(np.arange(10), np.array([0, 6, 10]), np.ones(10), np.ones(10), 1.0)
    with pytest.raises(BadInput, match="the stretches that are known of the stream, 6 tuples"):
        known.check_h(6)
