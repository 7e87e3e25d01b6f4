"""Rows that leave a join without a partner: outer joins and anti joins return them as results.

The kernel writes down every tuple that leaves, with its stream, the reason, and whether it ever
matched (`JoinTables.gone`). Here those of a preserved side become results of one row, which wait
until the join returns them. No row of a preserved side is lost, whatever the reason for which it
leaves. Where every departure is reported, as an archive needs it, all are kept until asked for.
"""

from collections.abc import Sequence

import numpy as np

from .join_kernel import Departures, read_departures
from .standings import EXPIRED


class DepartureLog:
    """Results due to rows without a partner, and all departures that are to be reported."""

    def __init__(self, preserved: Sequence[bool], sides: int, reports_all: bool):
        """`preserved`: of which streams rows without a partner are results."""
        self.preserved = np.array(preserved)
        self.reports_all = reports_all
        self.waiting = no_departures()[1:]  # as the kernel wrote them, until they are reported
        self.due = np.zeros((0, sides), np.int64)  # row numbers; -1 for the missing partner
        # Unmatched, and those of them evicted.
        self.counts = np.zeros((2, len(preserved)), np.int64)

    def read(self, gone: np.ndarray) -> None:
        """Take over what the kernel has written down, and clear that."""
        row, stream, reason, matched, _ = read_departures(gone)
        if self.reports_all and len(row):
            self.waiting = np.concatenate([self.waiting, gone[1 : 1 + len(row)]])
        alone = self.preserved[stream] & ~matched
        self.counts[1] += self._counted(stream[alone & (reason != EXPIRED)])
        self.add(stream[alone], row[alone])
        gone[0, 0] = 0

    def add(self, stream: np.ndarray, row: np.ndarray) -> None:
        """Note that rows have no partner: they are results if their side is preserved."""
        mine = self.preserved[stream]
        stream, row = stream[mine], row[mine]
        self.counts[0] += self._counted(stream)
        due = np.full((len(row), self.due.shape[1]), -1, np.int64)
        due[np.arange(len(row)), stream] = row
        self.due = np.concatenate([self.due, due])

    def take(self) -> np.ndarray:
        """Return the results that are due; none is due any more."""
        due, self.due = self.due, self.due[:0]
        return due

    def report(self) -> Departures:
        """Return the departures that were not reported before."""
        new, self.waiting = self.waiting, self.waiting[:0]
        return read_departures(np.concatenate([[[len(new), 0, 0]], new]))

    def _counted(self, stream: np.ndarray) -> np.ndarray:
        return np.bincount(stream, minlength=len(self.preserved))


def no_departures() -> np.ndarray:
    """Return a report of no departures, for `JoinTables.gone`."""
    return np.zeros((1, 3), np.int64)


def with_room(gone: np.ndarray, departures: int) -> np.ndarray:
    """Return a report, larger if need be, with room for so many departures more."""
    written = 1 + int(gone[0, 0])
    if written + departures <= len(gone):
        return gone
    larger = np.empty((written + departures, 3), np.int64)  # memory not written to takes none
    larger[:written] = gone[:written]
    return larger
