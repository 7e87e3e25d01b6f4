"""Which streams meet in which joins, on which attributes.

A *leg* is one end of a join: (stream, attribute). A join is a tuple of legs, and a result of it
takes one tuple from every leg, all with equal key. A tuple is indexed on every leg of its stream.
The plain two-way join is `(((0, 0), (1, 0)),)`; three streams in one join, two joins over four
streams, or two attributes of the same two streams are other values of the same thing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import BadInput

Joins = tuple[tuple[tuple[int, int], ...], ...]
TWO_WAY: Joins = (((0, 0), (1, 0)),)


def all_streams(count: int, attributes: int = 1) -> Joins:
    """Return one join over `count` streams for each of their attributes.

    >>> all_streams(3)
    (((0, 0), (1, 0), (2, 0)),)
    >>> all_streams(2, attributes=2)
    (((0, 0), (1, 0)), ((0, 1), (1, 1)))
    """
    _check_counts(count, attributes)
    streams = range(count)
    return tuple(tuple((stream, each) for stream in streams) for each in range(attributes))


def in_pairs(count: int, attributes: int = 1) -> Joins:
    """Return joins of stream 0 with 1, of 2 with 3, and so on, for each of their attributes.

    >>> in_pairs(4)
    (((0, 0), (1, 0)), ((2, 0), (3, 0)))
    """
    _check_counts(count, attributes)
    if count % 2:
        raise BadInput(f"streams that meet in pairs must be even in number, got {count}")
    firsts = range(0, count, 2)
    return tuple(((s, each), (s + 1, each)) for s in firsts for each in range(attributes))


def _check_counts(streams: int, attributes: int) -> None:
    if streams < 2:
        raise BadInput(f"a join needs at least 2 streams, got {streams}")
    if attributes < 1:
        raise BadInput(f"a join needs at least 1 attribute, got {attributes}")


@dataclass(frozen=True)
class Shape:
    """The joins, and the tables that kernels read off them."""

    joins: Joins = TWO_WAY

    def __post_init__(self) -> None:
        if not self.joins:
            raise BadInput("joins must name at least one join, got none")
        for number, join in enumerate(self.joins):
            streams = [stream for stream, _ in join]
            if len(join) < 2 or len(set(streams)) < len(streams):
                raise BadInput(
                    f"join {number} must have two or more legs on different streams, got {join}; "
                    "to join a stream with itself push its tuples once per leg"
                )
            if min(min(leg) for leg in join) < 0:
                raise BadInput(f"streams and attributes count from 0, got {join} in join {number}")

    def __reduce__(self) -> tuple:
        return Shape, (self.joins,)  # the tables are made again

    @property
    def streams(self) -> int:
        return 1 + max(stream for join in self.joins for stream, _ in join)

    @property
    def attributes(self) -> int:
        return 1 + max(attribute for join in self.joins for _, attribute in join)

    @property
    def sides(self) -> int:
        """The legs of the widest join."""
        return max(len(join) for join in self.joins)

    @property
    def legs(self) -> int:
        """The most legs that one stream has."""
        return self.leg_table.shape[1]

    @property
    def is_plain(self) -> bool:
        """Whether this is the two-way join that kernels have a short cut for."""
        return self.joins == TWO_WAY

    @cached_property
    def leg_table(self) -> np.ndarray:
        """int64[streams, legs, 3]: (join, side, attribute) of each leg of a stream; -1 pads."""
        rows: list[list[tuple[int, int, int]]] = [[] for _ in range(self.streams)]
        for number, join in enumerate(self.joins):
            for side, (stream, attribute) in enumerate(join):
                rows[stream].append((number, side, attribute))
        table = np.full((self.streams, max(map(len, rows)), 3), -1, np.int64)
        for stream, legs in enumerate(rows):
            for position, leg in enumerate(legs):
                table[stream, position] = leg
        return table

    @cached_property
    def side_table(self) -> np.ndarray:
        """int64[joins, sides, 2]: (stream, leg of that stream) of each side of a join; -1 pads."""
        table = np.full((len(self.joins), self.sides, 2), -1, np.int64)
        for stream in range(self.streams):
            for leg, (join, side, _) in enumerate(self.leg_table[stream]):
                if join >= 0:
                    table[join, side] = stream, leg
        return table
