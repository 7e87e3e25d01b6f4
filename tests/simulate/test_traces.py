"""Traces check what they are given, and say what they are."""

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
    with pytest.raises(BadInput, match=r"key of a trace must have 1 dimension.*got 2"):
        LookupTrace([[1, 2]])


def test_streams_meet_as_they_are_told_or_all_in_one():
    assert join().joins == TWO_WAY
    assert join(streams=3).joins == all_streams(3)
    assert join(key=[[1, 2], [3, 4]]).joins == all_streams(2, 2)
    assert join(streams=4, joins=in_pairs(4)).joins == in_pairs(4)
    for wrong in (all_streams(3), all_streams(2, 2)):
        with pytest.raises(BadInput, match="streams up to 1 and the attributes up to 0, got"):
            join(joins=wrong)


def test_length():
    trace = join([0, 1, 0, 1], [1, 2, 3, 4], [0, 0, 7, 8])
    assert len(trace) == 4
    assert len(join([], [], [])) == 0
    assert len(LookupTrace([4, 4, 4])) == 3


@pytest.mark.parametrize("column", ["side", "key", "time", "end", "value"])
def test_columns_must_be_equally_long(column):
    columns = {"side": [0, 1], "key": [5, 6], "time": [0, 1], "end": [1, 2], "value": [5, 6]}
    JoinTrace(**columns)
    columns[column] = columns[column][:1]
    with pytest.raises(BadInput, match=f"equally long, got .*{column} 1"):
        JoinTrace(**columns)


def test_lookup_columns_must_be_equally_long():
    with pytest.raises(BadInput, match="equally long, got key 2, value 1"):
        LookupTrace([1, 2], value=np.array([0.5]))


def test_nothing_is_rounded_or_cut_off():
    with pytest.raises(BadInput, match="key of a trace must hold integers, got float64"):
        join(key=[1.0, 2.5])
    with pytest.raises(BadInput, match="side of a trace must fit in int8, got 256"):
        join(side=[0, 256])
    with pytest.raises(BadInput, match="key of a trace must fit in int64"):
        LookupTrace(np.array([2**63], np.uint64))


def test_sides_lie_within_the_streams():
    assert len(join(side=[0, 2], streams=3)) == 2
    with pytest.raises(BadInput, match="side must be between 0 and 1, got 2 at row 2"):
        join(side=[0, 2])
    with pytest.raises(BadInput, match="side must be between 0 and 1, got -1 at row 1"):
        join(side=[-1, 0])


def test_number_of_streams():
    assert join(streams=127).streams == 127
    for streams in (1, 128):
        with pytest.raises(BadInput, match=f"streams must be between 2 and 127, got {streams}"):
            join(streams=streams)


def test_time_may_stand_still_but_not_go_back():
    assert join(time=[3, 3]).time.tolist() == [3, 3]
    assert join(time=[-(2**63), 2**63 - 1]).time.tolist() == [-(2**63), 2**63 - 1]
    with pytest.raises(BadInput, match="got 2 after 3 at row 2; sort the rows by time"):
        join(time=[3, 2])


def test_together_means_one_row_of_every_stream_at_a_step():
    assert join(together=True).together
    with pytest.raises(BadInput, match="one row of every stream at each step"):
        join(side=[1, 0], together=True)
    with pytest.raises(BadInput, match="one row of every stream at each step"):
        join(time=[0, 1], together=True)
    with pytest.raises(BadInput, match="one row of every stream at each step"):
        join([0, 1, 0], [1, 2, 3], [0, 0, 1], together=True)


@given(st.integers(2, 5), st.lists(st.integers(-99, 99), min_size=1, max_size=20))
def test_interleave_gives_every_stream_back(streams, values):
    columns = [np.array(values) + number for number in range(streams)]
    side, key, time = interleave(columns)
    for number, column in enumerate(columns):
        assert key[side == number].tolist() == column.tolist()
        assert time[side == number].tolist() == list(range(len(values)))
    assert len(JoinTrace(side, key, time, together=True, streams=streams)) == key.size
