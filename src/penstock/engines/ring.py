"""The last rows that came, so that whoever takes over can learn what it missed."""

import numpy as np

from .nbytes import nbytes
from .trials import Columns

PIECES = 64  # kept apart at most, then put together
FEWEST = 1024  # rows that are kept,
SOME = 16_384  # or four for each row of the budget, up to so many; or
PART = 4  # a fourth of the budget, if that is more: what is kept counts among what it takes
MOST = 1 << 20


def room_for(rows: int) -> int:
    """Return how many rows to keep beside a memory of so many.

    >>> room_for(10), room_for(1000), room_for(100_000)
    (1024, 4000, 25000)
    """
    return min(max(FEWEST, min(4 * rows, SOME), rows // PART), MOST)


class Ring:
    """The last `room` rows of a stream, column by column.

    >>> ring = Ring(3)
    >>> for batch in ([1, 2], [3, 4]):
    ...     ring.add((np.array(batch),))
    >>> ring.columns()[0].tolist()
    [2, 3, 4]
    """

    def __init__(self, room: int):
        self.room = room
        self._pieces: list[Columns] = []
        self._size = 0

    def add(self, columns: Columns) -> None:
        """Take rows in; they are copied, in pieces that are soon dropped again."""
        count = len(columns[0])
        step = max(1, self.room // 8)
        for first in range(max(0, count - self.room), count, step):
            part = slice(first, min(first + step, count))
            self._pieces.append(tuple(column[part].copy() for column in columns))
            self._size += part.stop - part.start
            self._drop()

    def _drop(self) -> None:
        """Drop pieces that are too old, and put many together."""
        while self._size - len(self._pieces[0][0]) >= self.room:
            self._size -= len(self._pieces.pop(0)[0])
        if len(self._pieces) > PIECES:
            self._pieces = [self.columns()]
            self._size = len(self._pieces[0][0])

    def columns(self) -> Columns:
        """Return the last rows, oldest first; nothing at all before the first."""
        if not self._pieces:
            return ()
        joined = (np.concatenate(each) for each in zip(*self._pieces, strict=True))
        return tuple(column[-self.room :] for column in joined)

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take."""
        return nbytes(self._pieces)

    def save(self) -> dict[str, np.ndarray]:
        """Return the rows as plain arrays."""
        return {str(number): column for number, column in enumerate(self.columns())}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._pieces, self._size = [], 0
        if saved:
            self.add(tuple(saved[str(number)] for number in range(len(saved))))
