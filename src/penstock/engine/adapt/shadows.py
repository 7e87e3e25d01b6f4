"""Shadow caches: small engines under other policies, all shown the same sample of the rows.

A sample is of keys, by their hashes: of a key either all tuples are in it or none. So a memory
smaller by the same share meets a stream that is to it what the whole stream is to the whole memory.
Where the memory is small all keys are sampled, else so many that a shadow cache holds `ROOM`
tuples. Time is counted in sampled rows, and how many must come until the next comparison is known
beforehand: so nothing depends on how the stream is cut, and costs do not grow with the memory.

Source: Waldspurger et al., "Efficient MRC construction with SHARDS" (FAST 2015); for any policy,
the same authors' "Cache modeling and optimization using miniature simulations" (ATC 2017).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...kernel.jit import kernel
from ...kernel.policy import Configured
from ...kernel.rng import mix
from ..saved import nbytes, part, prefixed

if TYPE_CHECKING:
    from ..base import Engine

Columns = tuple[np.ndarray, ...]

ROOM = 512  # tuples in a shadow cache
SALT = np.uint64(0x5851F42D4C957F2D)  # other code that hashes keys must not see the same together
BITS = np.uint64(11)  # of a hash of 64 bits 53 are compared
WHOLE = 2**53
NONE = np.zeros(0, np.int64)
AHEAD = 16_384  # rows of a batch in which sampled ones are looked for at a time
RING_FEWEST = 1024  # rows that are kept, or half of the budget if that is more: they count among
# what the engine takes
RING_MOST = 1 << 20


def share_of(rows: int, room: int) -> float:
    """Return the share of the keys that a shadow cache of so much room is shown.

    >>> share_of(200, 200), share_of(5120, 512)
    (1.0, 0.1)
    """
    return min(1.0, room / max(rows, 1))


def sampled(key: np.ndarray, share: float, hot: np.ndarray = NONE) -> np.ndarray:
    """Return the places of the keys that are in a sample of this share, but not of hot ones.

    >>> keys = np.arange(10_000)
    >>> len(sampled(keys, 1)), 900 < len(sampled(keys, 0.1)) < 1100
    (10000, True)
    """
    if share >= 1:
        return np.arange(len(key))
    places = np.empty(len(key), np.int64)
    count = _chosen(np.ascontiguousarray(key), np.uint64(round(share * WHOLE)), hot, places)
    return places[:count]


@kernel
def _chosen(key, threshold, hot, places):
    count = 0
    for place in range(key.shape[0]):  # whether it counts is a toss: a branch would take longer
        places[count] = place
        count += int((mix(np.uint64(key[place]) ^ SALT) >> BITS) < threshold)
    if len(hot) == 0:
        return count
    cold = 0
    for number in range(count):
        place = places[number]
        low, high = 0, len(hot)
        while low < high:
            middle = (low + high) // 2
            if hot[middle] < key[place]:
                low = middle + 1
            else:
                high = middle
        places[cold] = place
        cold += int(low == len(hot) or hot[low] != key[place])
    return cold


class Sample:
    """Which rows of a stream are sampled, and how many were since the last look.

    Per batch: `watch` it; ask `stop` how far to go; `take` what was gone through.
    """

    def __init__(self, share: float):
        self.share = share
        self.count, self.rows = 0, 0  # sampled rows since the last look, and rows of any key
        self.hot = NONE  # keys that are left out, in order
        self._key = NONE  # of the batch
        self._taken = 0  # rows of the batch
        self._places = NONE  # of the next sampled rows in the batch, if not all are,
        self._known = 0  # up to this row
        self._next = 0  # the first of the places that was not taken

    def watch(self, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._key, self._taken, self._known = key, 0, 0

    def leave_out(self, hot: np.ndarray) -> bool:
        """Leave these keys out from now on, also in what is left of the batch; tell if others."""
        if np.array_equal(hot, self.hot):
            return False
        self.hot, self._known = hot, self._taken
        return True

    def stop(self, most: int, need: int) -> int:
        """Return up to which row to go until `need` rows were sampled, `most` at most."""
        missing = need - self.count
        if self.share >= 1:
            return min(most, self._taken + missing)
        if self._known <= self._taken:
            first, self._known = self._taken, min(self._taken + AHEAD, len(self._key))
            self._places = sampled(self._key[first : self._known], self.share, self.hot) + first
            self._next = 0
        last = self._next + missing - 1
        most = min(most, self._known)
        return min(most, int(self._places[last]) + 1) if last < len(self._places) else most

    def take(self, stop: int) -> np.ndarray:
        """Take note that the rows before `stop` were taken; return where sampled ones are, if not
        all are.
        """
        taken = NONE
        self.rows += stop - self._taken
        if self.share >= 1:
            self.count += stop - self._taken
        else:
            end = int(np.searchsorted(self._places, stop))
            taken = self._places[self._next : end]
            self.count += len(taken)
            self._next = end
        self._taken = stop
        if stop == len(self._key):
            self.watch(NONE)  # it belongs to the caller
        return taken

    def begin(self) -> tuple[int, int]:
        """Begin to count anew; return how many rows were sampled until now, and how many came."""
        counted = self.count, self.rows
        self.count = self.rows = 0
        return counted

    def save(self) -> dict[str, np.ndarray]:
        """Return all but the batch as plain arrays."""
        return {"counts": np.array([self.count, self.rows]), "hot": self.hot}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        (self.count, self.rows), self.hot = saved["counts"].tolist(), np.array(saved["hot"])


def room_for(rows: int) -> int:
    """Return how many of the last rows to keep beside a memory of so many.

    >>> room_for(10), room_for(1000), room_for(100_000)
    (1024, 1024, 50000)
    """
    return min(max(RING_FEWEST, rows // 2), RING_MOST)


class Ring:
    """The last `room` rows of a stream, from which a policy that takes over learns.

    >>> ring = Ring(3)
    >>> for batch in ([1, 2], [3, 4]):
    ...     ring.add((np.array(batch),))
    >>> ring.last()[0].tolist(), ring.last(2)[0].tolist()
    ([2, 3, 4], [3, 4])
    """

    def __init__(self, room: int):
        self.room = room
        self._columns: Columns = ()  # what is beyond the room begins at the front again
        self._size = self._end = 0

    def add(self, columns: Columns) -> None:
        """Take rows in; they are copied."""
        count = len(columns[0])
        if not self._columns:
            self._columns = tuple(np.empty((self.room, *c.shape[1:]), c.dtype) for c in columns)
        some = min(count, self.room)
        first = min(some, self.room - self._end)  # up to the end; the others come to the front
        for own, given in zip(self._columns, columns, strict=True):
            own[self._end : self._end + first] = given[count - some : count - some + first]
            own[: some - first] = given[count - some + first :]
        self._end = (self._end + some) % self.room
        self._size = min(self._size + some, self.room)

    def last(self, most: int = RING_MOST) -> Columns:
        """Return the last rows, oldest first; nothing at all before the first."""
        count = min(most, self._size)
        first = self._end - count
        if first >= 0:
            return tuple(column[first : self._end].copy() for column in self._columns)
        return tuple(np.concatenate((c[first:], c[: self._end])) for c in self._columns)

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take."""
        return nbytes(self._columns)

    def save(self) -> dict[str, np.ndarray]:
        """Return the rows as plain arrays."""
        return {str(number): column for number, column in enumerate(self.last())}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._columns, self._size, self._end = (), 0, 0
        if saved:
            self.add(tuple(saved[str(number)] for number in range(len(saved))))


class Shadows:
    """The shadow caches, by the number of their challenger.

    They are restored when there is something to show them: a saved state is often only passed on.
    """

    def __init__(self, tried: Sequence[Configured], engine: "Engine", share: float):
        """`share` is that of the keys that they are shown."""
        self._tried, self._engine, self._share = tried, engine, share
        self._made: dict[int, Engine] = {}
        self._saved: dict[str, np.ndarray] = {}

    def show(self, number: int, columns: Columns) -> int:
        """Show rows to one, which is made if there is none; return what it found in these."""
        each = self._get(number)
        before = each.attained
        each._show(columns)
        return each.attained - before

    def begin(self, number: int) -> None:
        """Make one, which of all keys holds what the engine holds."""
        self._get(number)

    def numbers(self) -> set[int]:
        """Return the challengers that have one."""
        return {int(name.partition(".")[0]) for name in self._saved} | set(self._made)

    def discard(self, keys: np.ndarray) -> None:
        """Discard keys in all of them."""
        for number in sorted(self.numbers()):
            self._get(number).discard(keys)  # type: ignore[attr-defined]

    def resize(self) -> None:
        """Bring all of them to the size that the engine has now."""
        for number in sorted(self.numbers()):
            self._engine._fit(self._get(number), self._share)

    def drop(self, number: int) -> None:
        """Drop one, if there is one."""
        self._made.pop(number, None)
        self._take_saved(number)

    def _get(self, number: int) -> "Engine":
        if number not in self._made:
            saved = self._take_saved(number)
            if saved:
                made = type(self._engine).restore(saved)
                made.is_shadow = True
            else:
                made = self._engine._fork(self._tried[number], self._share)
            self._made[number] = made
        return self._made[number]

    def _take_saved(self, number: int) -> dict[str, np.ndarray]:
        mine = part(self._saved, f"{number}.")
        for name in mine:
            del self._saved[f"{number}.{name}"]
        return mine

    @property
    def nbytes(self) -> int:
        """The bytes that all of them take."""
        return nbytes(self._saved) + sum(each.nbytes for each in self._made.values())

    def save(self) -> dict[str, np.ndarray]:
        """Return all of them as plain arrays."""
        saved = dict(self._saved)
        for number, each in self._made.items():
            saved |= prefixed(f"{number}.", each.save())
        return saved

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._made, self._saved = {}, dict(saved)
