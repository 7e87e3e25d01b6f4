"""Which streams meet in which joins: the tables, and what is no shape at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.kernel.shape import TWO_WAY, Shape, all_streams, in_pairs


def test_the_plain_join():
    shape = Shape()
    assert shape.is_plain
    assert (shape.streams, shape.attributes, shape.sides, shape.legs) == (2, 1, 2, 1)
    assert shape.leg_table.tolist() == [[[0, 0, 0]], [[0, 1, 0]]]
    assert shape.side_table.tolist() == [[[0, 0], [1, 0]]]


def test_two_joins_of_different_width_that_share_a_stream():
    # stream 1 takes no part; stream 2 is side 1 of the first join and side 0 of the second
    shape = Shape((((0, 0), (2, 1), (3, 0)), ((2, 0), (0, 1))))
    assert not shape.is_plain
    assert (shape.streams, shape.attributes, shape.sides, shape.legs) == (4, 2, 3, 2)
    nothing = [-1, -1, -1]
    assert shape.leg_table.tolist() == [
        [[0, 0, 0], [1, 1, 1]],
        [nothing, nothing],
        [[0, 1, 1], [1, 0, 0]],
        [[0, 2, 0], nothing],
    ]
    assert shape.side_table.tolist() == [[[0, 0], [2, 0], [3, 0]], [[2, 1], [0, 1], [-1, -1]]]


legs = st.tuples(st.integers(0, 4), st.integers(0, 2))
joins = st.lists(
    st.lists(legs, min_size=2, max_size=5, unique_by=lambda leg: leg[0]).map(tuple),
    min_size=1,
    max_size=4,
).map(tuple)


@given(joins=joins)
def test_the_tables_say_what_the_joins_say(joins):
    shape = Shape(joins)
    read = {}
    for stream, rows in enumerate(shape.leg_table.tolist()):
        present = [row for row in rows if row[0] >= 0]
        assert rows[: len(present)] == present  # padded at the end only
        for leg, (join, side, attribute) in enumerate(present):
            assert shape.side_table[join, side].tolist() == [stream, leg]
            read[join, side] = (stream, attribute)
    assert read == {
        (number, side): leg for number, join in enumerate(joins) for side, leg in enumerate(join)
    }
    assert (shape.side_table >= 0).all(axis=2).sum() == len(read)
    assert shape.is_plain == (joins == TWO_WAY)


def test_the_short_ways_to_write_a_shape():
    assert all_streams(2) == in_pairs(2) == TWO_WAY
    assert all_streams(3) == (((0, 0), (1, 0), (2, 0)),)
    assert all_streams(2, 2) == in_pairs(2, 2) == (((0, 0), (1, 0)), ((0, 1), (1, 1)))
    assert in_pairs(4) == (((0, 0), (1, 0)), ((2, 0), (3, 0)))
    assert in_pairs(4, 2)[1:3] == (((0, 1), (1, 1)), ((2, 0), (3, 0)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: all_streams(1), "a join needs at least 2 streams, got 1"),
        (lambda: all_streams(2, 0), "a join needs at least 1 attribute, got 0"),
        (lambda: in_pairs(0), "a join needs at least 2 streams, got 0"),
        (lambda: in_pairs(3), "streams that meet in pairs must be even in number, got 3"),
        (lambda: Shape(()), "joins must name at least one join, got none"),
        (
            lambda: Shape((*TWO_WAY, ((0, 0),))),
            "join 1 must have two or more legs on different streams, got ((0, 0),); "
            "to join a stream with itself push its tuples once per leg",
        ),
        (
            lambda: Shape((((1, 0), (1, 1)),)),
            "join 0 must have two or more legs on different streams, got ((1, 0), (1, 1)); "
            "to join a stream with itself push its tuples once per leg",
        ),
        (
            lambda: Shape((((0, 0), (-1, 0)),)),
            "streams and attributes count from 0, got ((0, 0), (-1, 0)) in join 0",
        ),
        (
            lambda: Shape((*TWO_WAY, ((0, 0), (1, -1)))),
            "streams and attributes count from 0, got ((0, 0), (1, -1)) in join 1",
        ),
    ],
)
def test_what_is_no_shape(make, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        make()
