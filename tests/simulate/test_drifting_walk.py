"""Random walks: they start at 0 and move by rounded normals."""

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from penstock.errors import BadInput
from penstock.simulate.drifting import walk
from penstock.simulate.workloads import GENERATED


def test_shape():
    trace = walk(100, seed=1)
    assert (len(trace), len(set(trace.time)), trace.together, trace.name) == (
        200,
        100,
        True,
        "walk",
    )
    assert trace.end is None
    assert trace.side[:4].tolist() == [0, 1, 0, 1]
    assert trace.key[:2].tolist() == [0, 0]


def test_moves_are_rounded_normals():
    key = walk(50_000, seed=3).key
    for side in (0, 1):
        move = np.diff(key[side::2])
        cell = np.arange(-3, 4)
        count = [np.count_nonzero(move == x) for x in cell]
        mass = norm.cdf(cell + 0.5) - norm.cdf(cell - 0.5)
        assert chisquare(count, mass * sum(count) / mass.sum()).pvalue > 1e-3
        assert np.abs(move).max() <= 6


def test_the_walks_are_independent():
    key = walk(50_000, seed=3).key
    assert abs(np.corrcoef(np.diff(key[0::2]), np.diff(key[1::2]))[0, 1]) < 0.02


def test_references_are_the_s_stream():
    assert (
        GENERATED["walk"].references(50, seed=3).key.tolist() == walk(50, seed=3).key[1::2].tolist()
    )


def test_seeds():
    first = walk(200, seed=1).key.tolist()
    assert walk(200, seed=1).key.tolist() == first
    assert walk(200, seed=2).key.tolist() != first
    assert walk(900, seed=1).key[:400].tolist() == first


def test_bad_arguments():
    assert walk(1, seed=0).key.tolist() == [0, 0]
    with pytest.raises(BadInput, match="length must be a whole number of at least 1, got 0"):
        walk(0, seed=1)
    with pytest.raises(BadInput, match="length must be a whole number of at least 1, got 0"):
        GENERATED["walk"].references(0, seed=1)
    with pytest.raises(BadInput, match="seed must be a whole number of at least 0, got -3"):
        walk(1, seed=-3)
