import numpy as np
import pytest

from penstock import BadInput
from penstock.profiling import horizon, permuted, rank_keys
from penstock.simulate import GENERATED
from tests.profiling.streams import B, local


def test_the_true_h_suffices():
    found = horizon(rank_keys(local(50_000)).rank)
    assert (found.advice, found.settled) == (5, True)
    b = dict(zip(found.h, found.b()))
    assert b[5] == pytest.approx(B, abs=0.02)
    assert b[32] == pytest.approx(B, abs=0.02)


def test_b_never_rises():
    assert (np.diff(horizon(rank_keys(local(20_000)).rank).b()) < 1e-3).all()


def test_independent_tuples_need_the_least():
    found = horizon(permuted(rank_keys(local(50_000)).rank, 1))
    assert (found.advice, found.settled) == (1, True)


def test_a_long_memory_has_not_settled():
    keys = GENERATED["zipf"].references(20_000, 1, domain=1000, pareto=0.5).key
    assert not horizon(rank_keys(keys).rank, longest=10).settled


def test_the_longest_is_the_last_that_is_tried():
    rank = rank_keys(local(1000)).rank
    assert horizon(rank, longest=7).h == (1, 2, 3, 4, 5, 6, 7)
    assert horizon(rank, longest=1).h == (1,)
    assert len(horizon(rank, longest=7).squares) == 7


def test_refuses_to_look_back_too_far():
    with pytest.raises(BadInput, match="h must be below the length of the stream, 4 tuples, got 4"):
        horizon(np.array([0, 1, 0, 1]), longest=4)


def test_tells_how_far_it_is():
    told = []
    horizon(rank_keys(local(500)).rank, longest=3, progress=lambda *done: told.append(done))
    assert told == [(1, 3), (2, 3), (3, 3)]
