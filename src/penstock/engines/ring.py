"""The last rows that came, so that whoever takes over can learn what it missed."""

import numpy as np

from .trials import Columns
from .tuning import ROW_BYTES

PIECES = 64  # kept apart at most, then put together
FEWEST = 16_384  # rows that are kept, and a part of what the budget has if that is more:
PART = 4  # a fourth, since what is kept counts among what it takes to choose
MOST = 1 << 20


def room_for(budget: int, sized: bool = False) -> int:
    """Return how many rows to keep beside a memory.

    >>> room_for(10), room_for(100_000), room_for(1_000_000, sized=True)
    (16384, 25000, 16384)
    """
    rows = budget // ROW_BYTES if sized else budget
    return min(max(FEWEST, rows // PART), MOST)


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
        """Take rows in; they are copied."""
        rows = min(len(columns[0]), self.room)
        self._pieces.append(tuple(column[len(column) - rows :].copy() for column in columns))
        self._size += rows
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

    def save(self) -> dict[str, np.ndarray]:
        """Return the rows as plain arrays."""
        return {str(number): column for number, column in enumerate(self.columns())}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._pieces, self._size = [], 0
        if saved:
            self.add(tuple(saved[str(number)] for number in range(len(saved))))
