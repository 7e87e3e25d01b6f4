"""How many results each row completes, and rows it matches first: beside those listed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.engine import Join

ROW = st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 12))


@given(st.lists(ROW, max_size=60), st.integers(1, 8), st.integers(0, 60))
def test_a_tally_is_what_a_list_adds_up_to(rows, budget, cut):
    side, key, time = np.array(rows, np.int64).reshape(-1, 3).T
    listed, counted = (Join("fifo", budget, within=5, delay=4) for _ in range(2))
    expected, first = np.zeros((2, len(rows)), np.int64)
    found, matched = [], set()
    for part in (slice(0, cut), slice(cut, None)):
        pairs = listed.push(side[part], key[part], time[part]).rows
        found.append(counted.tallies(side[part], key[part], time[part]))
        # Rows are taken in the order of time and side, so the later one is not the one that came
        # later: within a batch order decides, and across batches the number of the row.
        taken = _taken(side, time, cut)
        for pair in sorted(pairs.tolist(), key=lambda pair: max(taken[row] for row in pair)):
            later = max(pair, key=lambda row: taken[row])
            expected[later] += 1
            first[later] += len(set(pair) - matched)
            matched.update(pair)
    assert np.concatenate(found, axis=1).tolist() == [expected.tolist(), first.tolist()]
    assert counted.results == listed.results
    assert counted.rows_matched == len(matched)
    assert counted.held_rows.tolist() == listed.held_rows.tolist()


def _taken(side, time, cut):
    """Return when each row is taken: batch by batch, in each by time, side and arrival."""
    order = sorted(range(len(side)), key=lambda row: (row >= cut, time[row], side[row], row))
    return {row: place for place, row in enumerate(order)}


def test_rows_that_are_taken_together_have_no_tally():
    with pytest.raises(BadInput, match="tally needs rows that are taken one by one"):
        Join("fifo", 2, within=3, together=True).tallies([0], [1], [0])
