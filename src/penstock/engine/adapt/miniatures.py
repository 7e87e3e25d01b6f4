"""What is tried out: candidates in miniatures of the engine, all shown the same sample of the rows.

A sample is of keys, by their hashes: of a key either all tuples are in it or none. So a memory
smaller by the same share meets a stream that is to it what the whole stream is to the whole memory.
Where the memory is small all keys are sampled, else so many that a miniature holds `ROOM` tuples.
Time is counted in sampled rows, and how many must come until the next comparison is known
beforehand: so nothing depends on how the stream is cut, and costs do not grow with the memory.

Miniatures exist as long as their candidates are awake. To replay what came lately from an empty
memory would be simpler, but flatters policies that never forget: what they hold on to does harm
only later.

Source: Waldspurger et al., "Efficient MRC construction with SHARDS" (FAST 2015); for any policy,
the same authors' "Cache modeling and optimization using miniature simulations" (ATC 2017).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...kernel.jit import kernel
from ...kernel.policy import Configured
from ...kernel.rng import mix
from ..saved import nbytes, part, prefixed

if TYPE_CHECKING:
    from ..base import Engine

Columns = tuple[np.ndarray, ...]

FIRSTS = (0.2, 0.35, 0.5, 0.65, 0.8)  # shares of the first of two streams
ROOM = 512  # tuples in a miniature
FREQUENT, MOST = 1024, 4096  # sampled rows between two comparisons: `looks_of`
SALT = np.uint64(0x5851F42D4C957F2D)  # other code that hashes keys must not see the same together
BITS = np.uint64(11)  # of a hash of 64 bits 53 are compared
WHOLE = 2**53
RING_PIECES = 64  # kept apart at most, then put together
RING_FEWEST = 1024  # rows that are kept,
RING_SOME = 16_384  # or four for each row of the budget, up to so many; or
RING_PART = 4  # a fourth of the budget, if that is more: what is kept counts among what it takes
RING_MOST = 1 << 20


class Candidate(NamedTuple):
    """A policy, in one memory for all or in one for each stream."""

    chosen: Configured
    shares: tuple[float, ...] | None = None  # of the memory, by stream; None: one memory for all
    family: int = 0  # policies that differ in parameters only are one family

    @property
    def layout(self) -> str:
        return "unified" if self.shares is None else "split"

    def __str__(self) -> str:
        if self.shares is None:
            return str(self.chosen)
        return f"{self.chosen}, split " + ":".join(f"{100 * share:.0f}" for share in self.shares)


def layouts(streams: int) -> list[tuple[float, ...]]:
    """Return the ways to give each stream a memory of its own.

    >>> layouts(2)[1:3], [round(share, 2) for share in layouts(3)[0]]
    ([(0.35, 0.65), (0.5, 0.5)], [0.33, 0.33, 0.33])
    """
    if streams == 2:
        return [(first, round(1 - first, 2)) for first in FIRSTS]
    return [(1 / streams,) * streams]


def candidates(
    families: Sequence[Sequence[Configured]], streams: int, split: bool
) -> tuple[Candidate, ...]:
    """Return everything that may be tried: first the families, then the same split."""
    whole = [Candidate(each, None, n) for n, family in enumerate(families) for each in family]
    parts = layouts(streams) if split else []
    return (*whole, *(each._replace(shares=shares) for each in whole for shares in parts))


def are_neighbours(one: Candidate, two: Candidate) -> bool:
    """Tell whether they differ by one step: in parameters, or in layout.

    >>> from penstock.policies import choose
    >>> lru = Candidate(choose("lru"))
    >>> even, uneven = lru._replace(shares=(0.5, 0.5)), lru._replace(shares=(0.2, 0.8))
    >>> are_neighbours(lru, even), are_neighbours(lru, uneven), are_neighbours(even, uneven)
    (True, False, False)
    """
    if one.family != two.family:
        return False
    if one.shares == two.shares:
        return one.chosen != two.chosen
    if one.chosen != two.chosen:
        return False
    if one.shares is None or two.shares is None:  # from one memory to even shares
        shares = one.shares or two.shares or (0.0, 1.0)
        return max(shares) == min(shares)
    return abs(one.shares[0] - two.shares[0]) < 0.16


def looks_of(room: int) -> int:
    """Return how many sampled rows at most there are between two comparisons.

    >>> looks_of(10), looks_of(256), looks_of(512)
    (1024, 2048, 4096)
    """
    return min(MOST, max(FREQUENT, 8 * room))


def share_of(rows: int, room: int) -> float:
    """Return the share of the keys that a miniature of so much room is shown.

    >>> share_of(200, 200), share_of(5120, 512)
    (1.0, 0.1)
    """
    return min(1.0, room / max(rows, 1))


def sampled(key: np.ndarray, share: float) -> np.ndarray:
    """Return the places of the keys that are in a sample of this share.

    >>> keys = np.arange(10_000)
    >>> len(sampled(keys, 1)), 900 < len(sampled(keys, 0.1)) < 1100
    (10000, True)
    """
    if share >= 1:
        return np.arange(len(key))
    marks = np.zeros(len(key), np.bool_)
    _mark(np.ascontiguousarray(key), np.uint64(round(share * WHOLE)), marks)
    return np.flatnonzero(marks)


@kernel
def _mark(key, threshold, marks):
    for place in range(key.shape[0]):
        marks[place] = (mix(np.uint64(key[place]) ^ SALT) >> BITS) < threshold


def _joined(parts: list[Columns]) -> Columns:
    """Return rows that came in parts, oldest first; nothing at all before the first."""
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _numbered(columns: Columns) -> dict[str, np.ndarray]:
    return {str(number): column for number, column in enumerate(columns)}


class Waiting:
    """Sampled rows that wait until there are enough of them to be shown to miniatures.

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
        return _numbered(_joined(self._rows)) | ({"hot": self.hot} if len(self.hot) else {})

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self.hot = saved.get("hot", self.hot)
        columns = [saved[name] for name in sorted(saved, key=len) if name != "hot"]
        self._rows = [tuple(columns)] if columns else []
        self.count = len(columns[0]) if columns else 0


def room_for(rows: int) -> int:
    """Return how many of the last rows to keep beside a memory of so many.

    >>> room_for(10), room_for(1000), room_for(100_000)
    (1024, 4000, 25000)
    """
    return min(max(RING_FEWEST, min(4 * rows, RING_SOME), rows // RING_PART), RING_MOST)


class Ring:
    """The last `room` rows of a stream, from which a policy that takes over learns.

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
            some = slice(first, min(first + step, count))
            self._pieces.append(tuple(column[some].copy() for column in columns))
            self._size += some.stop - some.start
            self._drop()

    def _drop(self) -> None:
        """Drop pieces that are too old, and put many together."""
        while self._size - len(self._pieces[0][0]) >= self.room:
            self._size -= len(self._pieces.pop(0)[0])
        if len(self._pieces) > RING_PIECES:
            self._pieces = [self.columns()]
            self._size = len(self._pieces[0][0])

    def columns(self) -> Columns:
        """Return the last rows, oldest first; nothing at all before the first."""
        return tuple(column[-self.room :] for column in _joined(self._pieces))

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take."""
        return nbytes(self._pieces)

    def save(self) -> dict[str, np.ndarray]:
        """Return the rows as plain arrays."""
        return _numbered(self.columns())

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._pieces, self._size = [], 0
        if saved:
            self.add(tuple(saved[str(number)] for number in range(len(saved))))


class Trials:
    """One miniature of an engine per candidate that is awake, by its number.

    They are made, or restored, when there is something to show them: a saved state is often only
    passed on.
    """

    def __init__(self, tried: Iterable[Candidate], engine: "Engine", share: float):
        """`share` is that of the keys that the miniatures are shown."""
        self.candidates = tuple(tried)
        self._engine = engine
        self._share = share
        self._miniatures: dict[int, Engine] = {}
        self._saved: dict[str, np.ndarray] = {}

    def push(self, columns: Columns, numbers: Iterable[int] | None = None) -> np.ndarray:
        """Show rows to all, or some; return what each found in these: float64[candidates]."""
        found = np.zeros(len(self.candidates))
        for number in range(len(self.candidates)) if numbers is None else numbers:
            each = self._awake(number)
            before = each.attained
            each._show(columns)
            found[number] = each.attained - before
        return found

    def resize(self) -> None:
        """Bring all of them to the size that the engine has now."""
        saved = {int(name.partition(".")[0]) for name in self._saved}
        for number in sorted(saved | set(self._miniatures)):
            self._engine._fit(self._awake(number), self.candidates[number], self._share)

    def forget(self, number: int) -> None:
        """Drop a miniature."""
        self._awake(number)
        del self._miniatures[number]

    def _awake(self, number: int) -> "Engine":
        if number not in self._miniatures:
            mine = f"{number}."
            saved = part(self._saved, mine)
            self._saved = {
                name: array for name, array in self._saved.items() if not name.startswith(mine)
            }
            made = (
                type(self._engine).restore(saved)
                if saved
                else self._engine._miniature(self.candidates[number], self._share)
            )
            made.is_miniature = True
            self._miniatures[number] = made
        return self._miniatures[number]

    @property
    def nbytes(self) -> int:
        """The bytes that all of them take."""
        return nbytes(self._saved) + sum(each.nbytes for each in self._miniatures.values())

    def save(self) -> dict[str, np.ndarray]:
        """Return all of them as plain arrays."""
        saved = dict(self._saved)
        for number, each in self._miniatures.items():
            saved |= prefixed(f"{number}.", each.save())
        return saved

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._miniatures, self._saved = {}, saved
