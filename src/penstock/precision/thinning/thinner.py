"""Many sources as one: readings and queries in, refreshes out."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import BadInput
from ..checks import count
from ..costs import Costs
from ..limits import check_limits
from ..rounding import is_rounded
from ..rule import WHY
from ..rules import tune
from ..source import refuse_misfits
from . import state as states
from .kernel import LATE, LATE_QUERIES, UNKNOWN, Found, Rows, compile_thin
from .state import FEW, empty_state, index_of, read_state, with_room

KINDS = (*WHY, "first")  # of refreshes, by their number
FOREVER = np.iinfo(np.int64).max
MASK = 2**64 - 1
WHOLE = 2**53  # up to here every whole number is a float


class Refreshes(NamedTuple):
    """Refreshes in the order in which they were sent."""

    row: np.ndarray  # int64: the reading that brought it about; queries count on after readings
    time: np.ndarray  # int64: microseconds
    low: np.ndarray  # float64
    high: np.ndarray  # float64
    why: np.ndarray  # int64: a place in KINDS


class Thinner:
    """Does for many keys what a `Source` does for one, with one cache each, in compiled code.

    rule, costs, limits: as of `Source`.
    max_silence: in microseconds. A reading so long after the last refresh of its key is sent even
        if nothing changed. A query later than that finds the interval no longer to be trusted.
    seed: where randomness comes from; each key draws from a stream of its own.

    >>> thinner = Thinner("static:width=4")
    >>> found = thinner.push(key=[7, 7, 7], time=[0, 1, 2], value=[20.0, 21.0, 23.0])
    >>> found.row.tolist(), found.low.tolist(), [KINDS[why] for why in found.why]
    ([0, 2], [18.0, 21.0], ['first', 'above'])
    >>> found = thinner.push(asked=[7, 7], asked_time=[3, 4], delta=[4.0, 1.0])
    >>> found.row.tolist(), [KINDS[why] for why in found.why]  # the first one could be answered
    ([1], ['asked'])
    """

    def __init__(
        self,
        rule: str = "settling",
        *,
        costs: Costs | None = None,
        limits: Iterable[float] = (),
        max_silence: int | None = None,
        seed: int = 0,
    ):
        self._tuned = tune(rule, costs)
        self._limits = np.array(check_limits(limits), np.float64)
        refuse_misfits(self._tuned.rule, bool(len(self._limits)))
        if self._tuned.rule.moves:
            raise BadInput(
                f"intervals of rule {self._tuned.rule.name!r} move with time, which bounds alone"
                " cannot tell; choose another rule, or use a Source"
            )
        silence = FOREVER if max_silence is None else count("max_silence", max_silence, 1)
        self._silence = np.int64(silence)
        self._seed = np.uint64(count("seed", seed, 0) & MASK)
        self._state = empty_state(self._tuned, FEW)
        self._known = 0
        self._table = index_of(self._state, 0)
        self._tally = np.zeros(3, np.int64)

    def __len__(self) -> int:
        """Return how many keys are known."""
        return self._known

    @property
    def counters(self) -> dict[str, int]:
        """Rows that came too late, and queries of keys without a reading."""
        return {
            "late": int(self._tally[LATE]),
            "late_queries": int(self._tally[LATE_QUERIES]),
            "unknown": int(self._tally[UNKNOWN]),
        }

    def push(
        self,
        key: ArrayLike = (),
        time: ArrayLike = (),
        value: ArrayLike = (),
        *,
        asked: ArrayLike = (),
        asked_time: ArrayLike = (),
        delta: ArrayLike = (),
        rounded: ArrayLike | None = None,
    ) -> Refreshes:
        """Take readings and queries in the order of time; at one time readings come first.

        Values must be finite, and delta at least 0. Times of one key may not go back from one call
        to the next: such rows are counted as late. `rounded` says which values are no floats but
        were rounded to the nearest: intervals then contain both of its neighbours. Of integers it
        is known by itself.
        """
        keys, asked_keys = _column(key, np.int64), _column(asked, np.int64)
        times = np.concatenate((_column(time, np.int64), _column(asked_time, np.int64)))
        numbers = np.concatenate((_column(value, np.float64), _column(delta, np.float64)))
        _check(keys, asked_keys, times, numbers)
        source = np.empty(len(times), np.int64)
        self._enter(keys, source[: len(keys)])
        states.look_up(self._table, self._state.key, asked_keys, source[len(keys) :])
        inexact = _pad(_inexact(value) if rounded is None else rounded, len(keys), len(times))
        rows = Rows(_order(times), source, times, numbers, inexact, len(keys))
        found = _make_found(len(times))
        run = compile_thin(self._tuned.rule)
        run(self._tuned.par, self._state, self._limits, self._silence, rows, found, self._tally)
        return Refreshes(*(column[: found.used[0]] for column in found[:5]))

    def _enter(self, keys: np.ndarray, row: np.ndarray) -> None:
        """Find the keys, making room for those that are new."""
        done = 0
        while True:
            state = self._state
            done, self._known = states.enter(
                self._table, state.key, self._known, state.rng, self._seed, keys, done, row
            )
            if done == len(keys):
                return
            self._make_room(2 * self._known)

    def _make_room(self, room: int) -> None:
        self._state = with_room(self._tuned, self._state, self._known, room)
        self._table = index_of(self._state, self._known)

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays, for `restore`; a row for each key."""
        arrays = self._state._asdict()
        return {name: array[: self._known] for name, array in arrays.items()} | {
            "tally": self._tally.copy()
        }

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where `save` left off, under the same rule and limits."""
        self._state = read_state(self._tuned, saved)
        self._known = len(self._state.key)
        self._make_room(max(FEW, self._known + self._known // 4))
        self._tally = np.array(saved["tally"])


def _column(numbers: ArrayLike, kind: type) -> np.ndarray:
    return np.ascontiguousarray(numbers, kind)


def _inexact(values: ArrayLike) -> np.ndarray:
    """Tell which values may not be floats: integers beyond 2 ** 53, and objects that are none."""
    found = np.asarray(values)
    if found.dtype == object:
        return np.array([is_rounded(value) for value in found.tolist()], np.bool_)
    if found.dtype.kind not in "iu":
        return np.zeros(len(found), np.bool_)
    return (found > WHOLE) | (found < -WHOLE)


def _pad(rounded: ArrayLike, readings: int, rows: int) -> np.ndarray:
    """Return for each row whether its value was rounded; a query has none."""
    found = _column(rounded, np.bool_)
    if len(found) != readings:
        raise BadInput(f"rounded must tell of every reading, got {len(found)} for {readings}")
    return np.concatenate((found, np.zeros(rows - readings, np.bool_)))


def _order(times: np.ndarray) -> np.ndarray:
    """Return the rows by time; those of one time as they came."""
    if (times[1:] >= times[:-1]).all():
        return np.arange(len(times))
    return np.argsort(times, kind="stable")


def _check(keys: np.ndarray, asked: np.ndarray, times: np.ndarray, numbers: np.ndarray) -> None:
    if not len(keys) + len(asked) == len(times) == len(numbers):
        raise BadInput(
            "readings need a key, a time and a value each, and queries a key, a time and a delta;"
            f" got {len(keys)} + {len(asked)} keys, {len(times)} times and {len(numbers)} numbers"
        )
    if not np.isfinite(numbers[: len(keys)]).all():
        raise BadInput("the value of a reading must be a finite number; leave the others out")
    if not (numbers[len(keys) :] >= 0).all():
        raise BadInput(
            f"delta must be a number of at least 0, got {numbers[len(keys) :].min()!r};"
            " leave such queries out"
        )


def _make_found(rows: int) -> Found:
    return Found(
        row=np.empty(rows, np.int64),
        time=np.empty(rows, np.int64),
        low=np.empty(rows),
        high=np.empty(rows),
        why=np.empty(rows, np.int64),
        used=np.zeros(1, np.int64),
    )
