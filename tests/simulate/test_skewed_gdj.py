"""The settings of GreedyDual-Join: which streams join, and which values are frequent."""

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.kernel.shape import all_streams, in_pairs
from penstock.simulate.skewed import gdj, zipf


def popularity(trace, stream, attribute=0):
    keys = trace.key.reshape(len(trace), -1)[trace.side == stream, attribute]
    return np.bincount(keys, minlength=100) / len(keys)


def test_by_default_it_is_the_papers_two_streams():
    trace, plain = gdj(300, 1), zipf(300, 1)
    assert trace.name == "gdj"
    assert (trace.key.tolist(), trace.side.tolist()) == (plain.key.tolist(), plain.side.tolist())
    assert trace.joins == plain.joins


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_streams_of_one_join_like_the_same_values(streams):
    trace = gdj(4000, 1, streams=streams)
    assert trace.joins == all_streams(streams)
    assert (trace.streams, len(set(trace.time)), len(trace)) == (streams, 4000, 4000 * streams)
    liked = [popularity(trace, stream)[:10].sum() for stream in range(streams)]
    assert min(liked) > 0.4


def test_the_second_pair_likes_opposite_values():
    trace = gdj(4000, 1, streams=8, pairs=True)
    assert trace.joins == in_pairs(8)
    first = [popularity(trace, stream)[:10].sum() for stream in range(8)]
    last = [popularity(trace, stream)[-10:].sum() for stream in range(8)]
    assert [a > b for a, b in zip(first, last, strict=True)] == [*[True] * 3, False] * 2
    assert (trace.value == trace.key).all()


def test_attributes_of_the_first_stream_are_more_and_more_skewed():
    trace = gdj(4000, 1, attributes=4)
    assert trace.joins == all_streams(2, 4)
    top = [popularity(trace, 0, attribute)[0] for attribute in range(4)]
    assert top == sorted(top)
    assert top[3] > 2 * top[0]
    assert max(popularity(trace, 1, attribute).max() for attribute in range(4)) < 0.02


def test_the_skew_of_the_others_can_be_set():
    assert popularity(gdj(4000, 1, others=0.0), 1).max() < 0.02
    skewed = gdj(4000, 1, attributes=2, others=1.5)
    assert popularity(skewed, 1, 0)[0] > 0.3


def test_pairs_may_have_several_attributes():
    trace = gdj(50, 1, streams=4, attributes=2, pairs=True)
    assert trace.joins == in_pairs(4, 2)
    assert trace.key.shape == (200, 2)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"streams": 1}, "streams must be a whole number of at least 2, got 1"),
        ({"attributes": 0}, "attributes must be a whole number of at least 1, got 0"),
        ({"streams": 3, "pairs": True}, "must be even in number, got 3"),
        ({"alpha": -1.0}, "alpha must be a number of at least 0"),
        ({"domain": 0}, "domain must be a whole number of at least 1, got 0"),
    ],
)
def test_nonsense_is_refused(options, complaint):
    with pytest.raises(BadInput, match=complaint):
        gdj(10, 1, **options)
