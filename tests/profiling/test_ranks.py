import numpy as np
import pandas as pd
import pytest

from penstock import BadInput
from penstock.profiling import rank_keys


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
        ([], "a stream must hold at least 2 tuples, got 0"),
        ([4], "a stream must hold at least 2 tuples, got 1"),
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
