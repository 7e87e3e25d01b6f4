"""Small joins, drawn at random, and what matches in them."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Row(NamedTuple):
    side: int
    key: int
    time: int
    end: int


@st.composite
def streams(draw, most=30, keys=3, gap=2, life=8):
    """Draw rows in (time, side) order; ends go up and down."""
    rows, now = [], 0
    for _ in range(draw(st.integers(0, most))):
        now += draw(st.integers(0, gap))
        side, key = draw(st.integers(0, 1)), draw(st.integers(0, keys - 1))
        rows.append(Row(side, key, now, now + draw(st.integers(0, life))))
    return sorted(rows, key=lambda row: (row.time, row.side))


def columns(rows):
    """Return side, key, time and end as arrays."""
    return list(np.array(rows, np.int64).reshape(len(rows), 4).T)


def matches(rows, together):
    """Return the pairs of row numbers that match, the earlier one first."""
    return [
        (i, j)
        for j, later in enumerate(rows)
        for i, earlier in enumerate(rows[:j])
        if earlier.side != later.side
        and earlier.key == later.key
        and later.time <= earlier.end
        and not (together and earlier.time == later.time)
    ]
