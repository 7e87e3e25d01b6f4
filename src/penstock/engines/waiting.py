"""Rows of a sample that wait until there are enough of them to be shown to miniatures.

Time is counted in sampled rows, and how many must come is known beforehand: so nothing depends on
how the stream is cut.
"""

import numpy as np

from .sample import sampled
from .trials import Columns


class Waiting:
    """Picks the sampled rows out of batches, and says where to stop for a look at them.

    Per batch: `watch` it; ask `stop` how far to go; `take` what was gone through.
    """

    def __init__(self, share: float):
        self.share = share
        self.count = 0
        self._rows: list[Columns] = []
        self._batch: Columns = ()
        self._places = np.zeros(0, np.int64)  # of the sampled rows in the batch
        self._next = 0  # the first of the places that was not taken

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._batch, self._places, self._next = columns, sampled(key, self.share), 0

    def stop(self, most: int, need: int) -> int:
        """Return up to which row to go until `need` rows wait, `most` at most."""
        last = self._next + need - self.count - 1
        return min(most, int(self._places[last]) + 1) if last < len(self._places) else most

    def take(self, stop: int) -> int:
        """Take note that the rows before `stop` were taken; return how many wait."""
        end = int(np.searchsorted(self._places, stop))
        chosen = self._places[self._next : end]
        if len(chosen):
            self._rows.append(tuple(column[chosen] for column in self._batch))
            self.count += len(chosen)
        self._next = end
        if end == len(self._places):
            self._batch = ()  # it belongs to the caller
        return self.count

    def leave(self) -> Columns:
        """Return the rows that waited; none waits any more."""
        rows = _joined(self._rows)
        self._rows, self.count = [], 0
        return rows

    def save(self) -> dict[str, np.ndarray]:
        """Return what waits as plain arrays."""
        return {str(number): column for number, column in enumerate(_joined(self._rows))}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._rows = [tuple(saved[str(n)] for n in range(len(saved)))] if saved else []
        self.count = len(saved["0"]) if saved else 0


def _joined(parts: list[Columns]) -> Columns:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
