"""Traces say what they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.kernel.shape import TWO_WAY, all_streams, in_pairs
from penstock.simulate.traces import JoinTrace, LookupTrace, interleave


def join(side=(0, 1), key=(5, 5), time=(0, 0), **more):
    return JoinTrace(side=list(side), key=list(key), time=list(time), **more)


def test_columns_get_the_promised_types():
    trace = join(end=[3, 4])
    kinds = [column.dtype for column in (trace.side, trace.key, trace.time, trace.end)]
    assert kinds == [np.int8, np.int64, np.int64, np.int64]
    assert LookupTrace([1, 2]).key.dtype == np.int64


def test_a_key_may_have_several_attributes():
    assert join(key=[[1, 2], [3, 4]]).key.shape == (2, 2)


def test_streams_match_by_the_given_joins_or_all_in_one():
    assert join().joins == TWO_WAY
    assert join(streams=3).joins == all_streams(3)
    assert join(key=[[1, 2], [3, 4]]).joins == all_streams(2, 2)
    assert join(streams=4, joins=in_pairs(4)).joins == in_pairs(4)


def test_length():
    trace = join([0, 1, 0, 1], [1, 2, 3, 4], [0, 0, 7, 8])
    assert len(trace) == 4
    assert len(join([], [], [])) == 0
    assert len(LookupTrace([4, 4, 4])) == 3


def test_number_of_streams():
    assert join(streams=127).streams == 127
    for streams in (1, 128):
        with pytest.raises(BadInput, match=f"streams must be between 2 and 127, got {streams}"):
            join(streams=streams)


@given(st.integers(2, 5), st.lists(st.integers(-99, 99), min_size=1, max_size=20))
def test_interleave_gives_every_stream_back(streams, values):
    columns = [np.array(values) + number for number in range(streams)]
    side, key, time = interleave(columns)
    for number, column in enumerate(columns):
        assert key[side == number].tolist() == column.tolist()
        assert time[side == number].tolist() == list(range(len(values)))
    assert len(JoinTrace(side, key, time, together=True, streams=streams)) == key.size
