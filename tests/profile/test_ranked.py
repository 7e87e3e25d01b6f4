import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.locality import Weights, conditional, least_squares, likeliest
from penstock.profile.ranked import link, permuted, previous, rank_keys, whole
from tests.profile.streams import A, B, few_keys, local


def test_the_most_popular_is_first():
    ranked = rank_keys(["b", "a", "c", "a", "c", "a"])
    assert ranked.rank.tolist() == [2, 0, 1, 0, 1, 0]
    assert ranked.counts.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    "keys",
    [
        np.array([3, 1, 3]),
        np.array([0.5, -1.0, 0.5]),
        np.array(["2026-01-01", "2025-01-01", "2026-01-01"], "datetime64[D]"),
        ["x", "y", "x"],
        np.array(["x", 7, "x"], object),
    ],
    ids=["integers", "floats", "dates", "texts", "mixed"],
)
def test_keys_of_every_kind(keys):
    assert rank_keys(keys).rank.tolist() == [0, 1, 0]


def test_equals_are_ranked_by_the_seed_and_not_by_time():
    keys = np.arange(1000)
    rank = rank_keys(keys, seed=1).rank
    assert abs(np.corrcoef(keys, rank)[0, 1]) < 0.1
    assert (rank == rank_keys(keys, seed=1).rank).all()
    assert (rank != rank_keys(keys, seed=2).rank).any()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([], "a stream must hold at least 2 rows, got 0"),
        ([4], "a stream must hold at least 2 rows, got 1"),
        (["a", "a", "a"], "two values to have a profile, got one and the same key in all 3 rows"),
        ([None, None], "got null in every one of 2 rows"),
        ([np.nan, np.nan], "got null in every one of 2 rows"),
        (np.array([pd.NA, pd.NA], object), "got null in every one of 2 rows"),
        (["a", None, "b"], "a value in every row, got null at row 2"),
        ([1.0, 2.0, np.nan], "a value in every row, got null at row 3"),
        ([[1, 2], [3, 4]], "keys must have 1 dimension, got 2"),
    ],
)
def test_refuses(keys, said):
    with pytest.raises(BadInput, match=said):
        rank_keys(keys)


@given(keys=few_keys)
def test_previous_is_the_last_with_the_same_key(keys):
    before = previous(np.array(keys))
    for now, key in enumerate(keys):
        earlier = [place for place in range(now) if keys[place] == key]
        assert before[now] == (earlier[-1] if earlier else -1)


def test_a_permutation_has_the_same_tuples_and_a_seed():
    keys = np.arange(100) % 7
    mixed = permuted(keys, 3)
    assert sorted(mixed) == sorted(keys)
    assert (mixed != keys).any()
    assert (mixed == permuted(keys, 3)).all()
    assert (mixed != permuted(keys, 4)).any()


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
    squares = [least_squares(known, [5])[0].b for known in (some, everything)]
    assert squares[0] == pytest.approx(squares[1], abs=0.05)
    bits = [conditional(known, Weights(A, B)) for known in (some, everything)]
    assert bits[0] == pytest.approx(bits[1], abs=0.05)


def test_refuses_to_look_back_further_than_a_stretch():
    known = link(np.arange(10), np.array([0, 6, 10]), np.ones(10), np.ones(10), 1.0)
    with pytest.raises(BadInput, match="the sampled stretches of the stream, 6 rows, got 6"):
        known.check_h(6)
