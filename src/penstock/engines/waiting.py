"""Rows of a sample that wait until there are enough of them to be shown to miniatures.

Time is counted in sampled rows, and how many must come is known beforehand: so nothing depends on
how the stream is cut.
"""

import numpy as np

from .nbytes import nbytes
from .sample import sampled
from .trials import Columns


class Waiting:
    """Picks the sampled rows out of batches, and says where to stop for a look at them.

    Per batch: `watch` it; ask `stop` how far to go; `take` what was gone through.
    """

    def __init__(self, share: float):
        self.share = share
        self.count = 0
        self.hot = np.zeros(0, np.int64)  # keys that are left out, in order
        self._rows: list[Columns] = []
        self._batch: Columns = ()
        self._key = np.zeros(0, np.int64)
        self._taken = 0  # rows of the batch
        self._places = np.zeros(0, np.int64)  # of the sampled rows in the batch
        self._next = 0  # the first of the places that was not taken

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._batch, self._key, self._taken = columns, key, 0
        self._find_places()

    def leave_out(self, hot: np.ndarray) -> None:
        """Leave these keys out from now on, also in what is left of the batch."""
        if not np.array_equal(hot, self.hot):
            self.hot = hot
            self._find_places()

    def _find_places(self) -> None:
        """Find the sampled rows in what is left of the batch."""
        places = self.sampled(self._key[self._taken :])
        self._places, self._next = places + self._taken, 0

    def sampled(self, key: np.ndarray) -> np.ndarray:
        """Return the places of the keys that are in the sample and not left out of it."""
        places = sampled(key, self.share)
        return places[~np.isin(key[places], self.hot)] if len(self.hot) else places

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
        self._next, self._taken = end, stop
        if stop == len(self._key):
            self._batch, self._key, self._taken = (), self._key[:0], 0  # they belong to the caller
            self._places, self._next = self._places[:0], 0
        return self.count

    def leave(self) -> Columns:
        """Return the rows that waited; none waits any more."""
        rows = _joined(self._rows)
        self._rows, self.count = [], 0
        return rows

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take."""
        return nbytes(self._rows, self._places)

    def save(self) -> dict[str, np.ndarray]:
        """Return what waits as plain arrays."""
        saved = {str(number): column for number, column in enumerate(_joined(self._rows))}
        return saved | ({"hot": self.hot} if len(self.hot) else {})

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self.hot = saved.get("hot", self.hot)
        columns = [saved[name] for name in sorted(saved, key=len) if name != "hot"]
        self._rows = [tuple(columns)] if columns else []
        self.count = len(columns[0]) if columns else 0


def _joined(parts: list[Columns]) -> Columns:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
