"""Results in parts: the same as in one piece, of bounded size, whatever the shape of the join."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join
from penstock.kernel.shape import TWO_WAY, all_streams, in_pairs
from tests.compare import assert_same_join, cut, listed, streams, whole
from tests.marks import long
from tests.recount import recount

# The shapes and the policy of test_join_shapes.py, whose kernels are compiled already.
SHAPES = {
    "two streams": (TWO_WAY, 2, 1),
    "three streams": (all_streams(3), 3, 1),
    "two joins": (in_pairs(4), 4, 1),
    "two attributes": (all_streams(2, 2), 2, 2),
    "joins of different widths": ((((0, 0), (1, 0), (2, 1)), ((1, 1), (2, 0))), 3, 2),
}
limits = st.integers(1, 40)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), budget=st.none() | st.integers(1, 12), most=limits)
def test_parts_are_what_the_twin_finds(shape, data, budget, most):
    joins, count, attributes = SHAPES[shape]
    drawn = streams(count=count, attributes=attributes, keys=3, most=60)
    batches = data.draw(cut(data.draw(drawn)))
    assert_same_join(
        "prob",
        batches,
        budget,
        joins=joins,
        attributes=attributes,
        within=12,
        restore=True,
        most=most,
    )


@pytest.mark.parametrize("shape", SHAPES)
@given(seed=st.integers(0, 1000), most=limits)
def test_parts_are_what_push_returns(shape, seed, most):
    joins, count, attributes = SHAPES[shape]
    rng = np.random.default_rng(seed)
    whole_one, in_parts = (Join("prob", 20, within=9, joins=joins) for _ in range(2))
    for start in (0, 50):
        columns = (
            rng.integers(0, count, 50),
            rng.integers(0, 3, (50, attributes)),
            np.sort(rng.integers(start, start + 50, 50)),
        )
        found = whole(in_parts, list(in_parts.push_parts(*columns, most=most)), most)
        assert listed(found) == listed(whole_one.push(*columns))
        recount(in_parts)
        assert in_parts.held_rows.tolist() == whole_one.held_rows.tolist()
        whole_one, in_parts = (Join.restore(join.save()) for join in (whole_one, in_parts))


@long
def test_no_more_than_one_part_is_in_memory():
    n = 1500
    join = Join(within=10)
    zeros = np.zeros(2 * n, np.int64)
    parts = join.push_parts(np.repeat([0, 1], n), zeros, zeros, most=10_000)
    first = next(parts)
    assert join.results < n * n / 10  # the rows are taken while the parts are read
    sizes = [len(first.join), *(len(part.join) for part in parts)]
    assert sum(sizes) == join.results == n * n
    assert max(sizes) < 2 * 10_000


@long
def test_the_results_of_one_row_stay_together():
    n = 5000
    join = Join(within=10)
    zeros = np.zeros(n + 2, np.int64)
    parts = join.push_parts([0] * n + [1, 1], zeros, zeros, most=100)
    assert [len(part.join) for part in parts] == [n, n]


def test_a_batch_without_results_has_no_parts():
    join = Join(within=10)
    assert list(join.push_parts([0, 0], [1, 2], [3, 4])) == []
    assert join.held == 2
