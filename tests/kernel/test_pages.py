"""Tables on pages of their own: as NumPy makes them, and given back when they are dropped."""

import sys

import numpy as np
import pytest

from penstock.kernel.pages import HUGE, LARGE, copied, full, zeros

RECORD = np.dtype([("a", np.float64), ("b", np.int32)])


def _begun(rows, dtype):
    """Return a table of zeros whose first three lines are ones."""
    table = np.zeros((rows, 2), dtype)
    table[:3] = 1
    return table


@pytest.mark.parametrize("rows", [0, 1, 1000, LARGE // 8, LARGE, HUGE])
@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.float64])
def test_they_are_what_numpy_makes(rows, dtype):
    for made, expected in (
        (zeros(rows, dtype), np.zeros(rows, dtype)),
        (zeros((rows, 2), dtype), np.zeros((rows, 2), dtype)),
        (full((2, rows), 1, dtype), np.full((2, rows), 1, dtype)),
        (copied(np.ones((3, 2), dtype), rows + 3), _begun(rows + 3, dtype)),
    ):
        assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
        assert made.flags.carray  # in order, aligned and writeable: what kernels are compiled for
        assert (made == expected).all()


def test_records_have_room_too():
    table = zeros(LARGE, RECORD)
    table[5] = (0.5, 3)
    assert (table.dtype, len(table), table["b"].sum()) == (RECORD, LARGE, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what a process takes")
def test_dropped_pages_are_freed_at_once():
    def mapped():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    before = mapped()
    tables = [full(1_000_000, 1, np.int64) for _ in range(10)]
    assert mapped() - before > 70_000_000
    last = tables[-1]
    del tables
    assert mapped() - before < 20_000_000
    assert last.sum() == 1_000_000
