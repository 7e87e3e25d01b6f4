"""Many sources at once, driven by columns of readings and queries: the engine of Spark's `thin`.

The kernel takes the same steps as `Source.update` and `Source.ask`, for sources that are rows of
arrays and have one cache each; the hooks of the rules are the same text.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadState
from ..kernel import keymap
from ..kernel.jit import jit, kernel, specialise
from ..kernel.rng import mix, uniform
from ..numeric import check_count
from .interval_source import around, check_limits, check_rule, cut_at_limits, ends
from .rule import ABOVE, ASKED, BELOW, SPOKE, WHY, Costs, Rule, Tuned
from .rules import tune

KINDS = (*WHY, "first")  # of refreshes, by their number
FIRST = SPOKE + 1  # the first interval of a key; the other reasons are those of rule.py
NOTHING = -1  # no refresh
LATE, LATE_QUERIES, UNKNOWN = 0, 1, 2  # places in a tally
LOW, HIGH, VALUE = 0, 1, 2  # columns of now
READ, CLOCK, SENT = 0, 1, 2  # columns of when
NEVER, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
FEW = 1024  # keys that there is room for at first
MASK = 2**64 - 1
SECOND = 1e6  # microseconds
Numbers = Sequence[Any] | np.ndarray


class KeyStates(NamedTuple):
    """The sources as arrays, a row for each key."""

    key: np.ndarray  # int64[n]: 64 bits that identify the key
    memory: np.ndarray  # float64[n, numbers]: of the rule
    now: np.ndarray  # float64[n, 3]: the interval that was last sent, and the value
    rounded: np.ndarray  # bool[n]: no float equals the value, which lies between its neighbours
    when: np.ndarray  # int64[n, 3]: of the last reading, of the last row, of the last refresh
    rng: np.ndarray  # uint64[n, 1]: the random numbers of the rule


class PushedRows(NamedTuple):
    """Readings, then queries."""

    order: np.ndarray  # int64[n]: the numbers of the rows, in the order of time
    source: np.ndarray  # int64[n]: the place of the row's key; -1: unknown
    time: np.ndarray  # int64[n]: microseconds
    number: np.ndarray  # float64[n]: the value of a reading; δ of a query
    rounded: np.ndarray  # bool[n]: no float equals the value
    readings: int  # how many of the rows are readings


class Refreshes(NamedTuple):
    """Refreshes in the order in which they were sent."""

    row: np.ndarray  # int64: the row that caused it; queries are numbered after the readings
    time: np.ndarray  # int64: microseconds
    low: np.ndarray  # float64
    high: np.ndarray  # float64
    why: np.ndarray  # int64: a place in KINDS


class Thinner:
    """Does for many keys what a `Source` does for one, with one cache each, in compiled code.

    rule, costs, limits: as of `Source`.
    max_silence: in microseconds. A reading so long after the last refresh of its key is sent even
        if nothing changed. A query later than that does not trust the interval.
    seed: of all randomness; each key draws from a stream of its own.

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
        check_rule(self._tuned.rule, bool(len(self._limits)), "a column of bounds")
        silence = FOREVER if max_silence is None else check_count("max_silence", max_silence, 1)
        self._silence = np.int64(silence)
        self._seed = np.uint64(check_count("seed", seed, 0) & MASK)
        self._known = 0
        self._keys = _make_room(self._tuned, 0)
        self._resize(FEW)
        self._tally = np.zeros(3, np.int64)

    def __len__(self) -> int:
        """Return the number of known keys."""
        return self._known

    @property
    def counters(self) -> dict[str, int]:
        """The number of late rows, and of queries of keys without a reading."""
        return dict(zip(("late", "late_queries", "unknown"), self._tally.tolist(), strict=True))

    def push(
        self,
        key: Numbers = (),
        time: Numbers = (),
        value: Numbers = (),
        *,
        asked: Numbers = (),
        asked_time: Numbers = (),
        delta: Numbers = (),
        rounded: Numbers | None = None,
    ) -> Refreshes:
        """Take readings and queries in the order of time; at one time readings come first.

        Values must be finite, and delta at least 0. Times of one key may not go back from one call
        to the next: such rows are counted as late. `rounded` marks the values that are not floats
        but were rounded to the nearest one: intervals then contain both of its neighbours.
        """
        readings = len(key)
        keys, times = _one((key, asked), np.int64), _one((time, asked_time), np.int64)
        numbers = _one((value, delta), np.float64)
        marks = np.zeros(readings) if rounded is None else rounded
        inexact = _one((marks, np.zeros(len(asked))), np.bool_)
        assert len(keys) == len(times) == len(numbers) == len(inexact)
        source = self._places(keys, readings)
        order = np.argsort(times, kind="stable")  # linear if they are in order already
        rows = PushedRows(order, source, times, numbers, inexact, readings)
        kinds = (np.int64, np.int64, np.float64, np.float64, np.int64)
        found = Refreshes(*(np.empty(len(times), kind) for kind in kinds))
        run, par = compile_thin(self._tuned.rule), self._tuned.par
        used = run(par, self._keys, self._limits, self._silence, rows, found, self._tally)
        return Refreshes(*(column[:used] for column in found))

    def _places(self, keys: np.ndarray, readings: int) -> np.ndarray:
        """Return the places of all keys, adding those of readings that are new."""
        place, done = np.empty(len(keys), np.int64), 0
        while True:
            known, rng = self._keys.key, self._keys.rng
            done, self._known = _find_or_add(
                self._table, known, self._known, rng, self._seed, keys, readings, done, place
            )
            if done == len(keys):
                return place
            self._resize(2 * self._known)

    def _resize(self, room: int) -> None:
        """Make room for so many keys."""
        larger = _make_room(self._tuned, room)
        for new, old in zip(larger, self._keys, strict=True):
            new[: self._known] = old[: self._known]
        self._keys, self._table = larger, keymap.make_buckets(room)
        keymap.fill(self._table, 0, larger.key[: self._known], np.arange(self._known))

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays, for `restore`; a row for each key."""
        arrays = {name: array[: self._known] for name, array in self._keys._asdict().items()}
        return arrays | {"tally": self._tally.copy()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save` left off, under the same rule and limits."""
        keys = KeyStates(*(np.array(saved[name]) for name in KeyStates._fields))
        numbers = len(self._tuned.start())
        if keys.memory.shape != (len(keys.key), numbers):
            raise BadState(
                f"a saved memory must hold {numbers} numbers for each of {len(keys.key)} keys under"
                f" rule {self._tuned.text!r}, got an array of the shape {keys.memory.shape}"
            )
        self._keys, self._known = keys, len(keys.key)
        self._resize(max(FEW, self._known + self._known // 4))
        self._tally = np.array(saved["tally"])


def _make_room(tuned: Tuned, n: int) -> KeyStates:
    """Return room for so many keys of which no row was seen."""
    key, memory = np.zeros(n, np.int64), np.tile(np.array(tuned.start()), (n, 1))
    now, when = np.full((n, 3), np.nan), np.full((n, 3), NEVER)
    return KeyStates(key, memory, now, np.zeros(n, np.bool_), when, np.zeros((n, 1), np.uint64))


def _one(columns: tuple[Numbers, Numbers], kind: type) -> np.ndarray:
    return np.concatenate(columns, dtype=kind, casting="unsafe")


@kernel
def _find_or_add(table, known_keys, known, rng, seed, keys, readings, first, place):
    """Fill `place` with the places of keys; add new keys of readings until the room is used up.

    Begins at the key `first`; returns how many keys are done and how many are known then.
    """
    for i in range(first, len(keys)):
        place[i] = keymap.find(table, 0, known_keys, keys[i])
        if place[i] < 0 and i < readings:
            if known == len(known_keys):
                return i, known
            place[i] = known
            known_keys[known] = keys[i]
            rng[known, 0] = mix(np.uint64(keys[i]) ^ seed)
            keymap.add(table, 0, keys[i], known)
            known += 1
    return len(keys), known


# ------------------------------------------------------------ the kernel


@jit
def _ask(keys, silence, s, delta, now):
    """Return ASKED if the interval is wider than δ or no longer trusted, else NOTHING."""
    lost = now - keys.when[s, SENT] > silence
    return ASKED if lost or _is_wider(keys.now[s, LOW], keys.now[s, HIGH], delta) else NOTHING


@jit
def _is_wider(low, high, delta):
    """Tell whether an interval is wider than δ, even if by less than the rounding error."""
    width = high - low
    if width != delta or math.isinf(width):
        return width > delta
    there = width - high
    return (high - (width - there)) - (low + there) > 0  # the rounding error of width


@functools.cache
def compile_thin(rule: Rule) -> Any:
    """Return the kernel for one rule: it takes one row after another."""
    on_update, on_refresh, shape = rule.on_update, rule.on_refresh, rule.shape

    @jit
    def update(par, keys, silence, s, value, rounded, now):
        """Take a reading, and return the reason for a refresh, or NOTHING."""
        changed = value != keys.now[s, VALUE]
        keys.now[s, VALUE] = value
        keys.rounded[s] = rounded
        if keys.when[s, READ] == NEVER:
            return FIRST
        if changed:
            on_update(par, keys.memory[s], value, now / SECOND)
        least, most = ends(value, rounded)
        if most > keys.now[s, HIGH]:
            return ABOVE
        if least < keys.now[s, LOW]:
            return BELOW
        return SPOKE if now - keys.when[s, SENT] >= silence else NOTHING

    @jit
    def refresh(par, keys, limits, s, why, now, need):
        """Let the rule learn, and make the next interval."""
        value = keys.now[s, VALUE]
        reason = SPOKE if why == FIRST else why
        draw = uniform(keys.rng[s])
        on_refresh(par, keys.memory[s], reason, value, now / SECOND, need, draw)
        low, high, _, _, _ = shape(par, keys.memory[s], value)
        low, high = cut_at_limits(low, high, value, limits)
        low, high = around(low, high, value, keys.rounded[s])
        keys.now[s, LOW] = low
        keys.now[s, HIGH] = high
        keys.when[s, SENT] = now

    def run(par, keys, limits, silence, rows, found, tally):
        """Take all rows, fill in what was found, and return how many refreshes that are.

        Rows older than the last reading of their key are late, and only counted. A reading that is
        older than a query that was answered already is taken at the time of that query: it is new
        all the same, and refreshes must not go back in time.
        """
        used = 0
        for i in range(len(rows.order)):
            row = rows.order[i]
            s, is_query = rows.source[row], row >= rows.readings
            if s < 0 or (is_query and keys.when[s, READ] == NEVER):
                tally[UNKNOWN] += 1
                continue
            if rows.time[row] < keys.when[s, READ]:
                tally[LATE_QUERIES if is_query else LATE] += 1
                continue
            now = max(rows.time[row], keys.when[s, CLOCK])
            if is_query:
                need = rows.number[row]
                why = _ask(keys, silence, s, need, now)
            else:
                need = 0.0
                why = update(par, keys, silence, s, rows.number[row], rows.rounded[row], now)
                keys.when[s, READ] = rows.time[row]
            keys.when[s, CLOCK] = now
            if why != NOTHING:
                refresh(par, keys, limits, s, why, now, need)
                found.row[used] = row
                found.time[used] = now
                found.low[used] = keys.now[s, LOW]
                found.high[used] = keys.now[s, HIGH]
                found.why[used] = why
                used += 1
        return used

    return specialise(run)
