"""One bucket of a thinning, one micro-batch at a time: readings in, refreshes out.

Holds no algorithm: `Thinner` decides what is sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...kernel.jit import cache_folder, packed, used_kernels
from ...precision.rule import Costs
from ...precision.thinning import KINDS, Refreshes, Thinner
from ..frames import Input
from ..plan import Placed
from .arrow import BYTES, ROWS, as_microseconds, pieces, row_bytes, to_ipc
from .bucket import Bucket, MicroBatch, Packet
from .kernels import Kernels, is_local
from .store import Stored

READINGS, QUERIES = 0, 1  # the sides that packets come from
LOW, HIGH, KIND, COST = "low", "high", "kind", "cost"
FIXED = 50  # bytes that a refresh takes beside its key, about
THIN_COUNTED = ("readings", "queries", *KINDS, "null_key", "null_time", "no_number")
THIN_COUNTERS = [*THIN_COUNTED, "late", "late_queries", "unknown", "keys", "bytes"]


class Side(NamedTuple):
    """The rows of one side that can be used, and how many cannot."""

    key: np.ndarray  # int64
    time: np.ndarray  # int64: microseconds
    number: np.ndarray  # float64: the value that was read, or how wide an answer may be
    rounded: np.ndarray  # bool: no double equals the value; number is the nearest
    columns: list[Any]  # the key columns, where they do not stand for themselves
    dropped: dict[str, int]

    @property
    def size(self) -> int:
        """How many rows came."""
        return len(self.key) + sum(self.dropped.values())


def read_side(
    source: Input | None,
    tables: list[pa.Table],
    number: str,
    least: float,
    rounded: str | None = None,
) -> Side:
    """Return the rows of some packets, those left out that have no key, time or usable number."""
    if source is None or not tables:
        none = np.empty(0, np.int64)
        return Side(none, none, np.empty(0), np.empty(0, np.bool_), [], {})
    table = pa.concat_tables(tables)
    numbers = _array(table.column(number))  # a null becomes NaN
    good, dropped = _usable(table.column(0), table.column(source.time), numbers, least)
    if dropped:
        table, numbers = table.filter(pa.array(good)), numbers[good]
    columns = [] if source.exact else [table.column(name) for name in source.keys]
    key, time = _array(table.column(0)), as_microseconds(table.column(source.time))
    inexact = np.zeros(len(key), np.bool_) if rounded is None else _array(table.column(rounded))
    return Side(key, time, numbers, inexact, columns, dropped)


def _array(column: pa.ChunkedArray) -> np.ndarray:
    return column.combine_chunks().to_numpy(zero_copy_only=False)


def _usable(
    key: pa.ChunkedArray, time: pa.ChunkedArray, number: np.ndarray, least: float
) -> tuple[np.ndarray, dict[str, int]]:
    """Tell which rows can be used, and count the others, each for one reason."""
    good, dropped = np.ones(len(number), bool), {}
    reasons = {
        "null_key": lambda: _array(key.is_valid()),
        "null_time": lambda: _array(time.is_valid()),
        "no_number": lambda: np.isfinite(number) & (number >= least),
    }
    for name, look in reasons.items():
        passed = good & look()
        if count := int(good.sum() - passed.sum()):
            dropped[name] = count
        good = passed
    return good, dropped


@dataclass(frozen=True, kw_only=True)
class ThinPlan(Placed):
    """What the operator of a thinning must know."""

    what: ClassVar[str] = "thin"
    changeable: ClassVar[tuple[str, ...]] = ("silence", "seed", "value", "rounded", "costs")

    def under(self, terms: dict[str, Any]) -> "ThinPlan":
        """Return the plan as it was before some of it changed."""
        return super().under(terms | {"costs": Costs(*terms["costs"])})

    readings: Input
    queries: Input | None
    value: str
    rounded: str | None  # the column that tells where no double equals the value
    delta: str
    rule: str
    costs: Costs
    limits: tuple[float, ...]
    silence: int | None  # microseconds
    seed: int

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on; costs, silence and queries may change."""
        return {
            "operator": "thin",
            "key": [f"{name}: {self.readings.type_of(name)}" for name in self.readings.keys],
            "rule": self.rule,
            "limits": list(self.limits),
            **self.readings.marks,
        } | self.placement

    def thinner(self) -> Thinner:
        """Return the sources of a bucket, as they start."""
        return Thinner(
            self.rule,
            costs=self.costs,
            limits=self.limits,
            max_silence=self.silence,
            seed=self.seed,
        )


class ThinBucket(Bucket):
    """The sources of the keys that fall into one bucket."""

    def __init__(self, plan: ThinPlan, number: int, state: bytes | None = None):
        self.plan = plan
        self.totals = dict.fromkeys(THIN_COUNTED, 0.0)
        self.thinner = plan.thinner()
        self.open(state)

    def resume(self, stored: Stored) -> None:
        """Go on where an earlier micro-batch stopped."""
        self.totals |= stored.totals
        self.thinner.restore(stored.arrays)

    def advance(self, batch: MicroBatch) -> Iterator[Packet]:
        """Take the packets of one micro-batch and return the refreshes."""
        plan = self.plan
        readings, queries = sides = [
            read_side(source, batch.tables(mine), *numbers)
            for mine, source, numbers in (
                (READINGS, plan.readings, (plan.value, -np.inf, plan.rounded)),
                (QUERIES, plan.queries, (plan.delta, 0.0, None)),
            )
        ]
        found = self.thinner.push(
            readings.key,
            readings.time,
            readings.number,
            rounded=readings.rounded,
            asked=queries.key,
            asked_time=queries.time,
            delta=queries.number,
        )
        self._count(sides, found.why)
        if not self.silent:
            yield from to_packets(plan, sides, found)

    def stored(self) -> Stored:
        """Return all that the bucket remembers."""
        return Stored(self.plan.fingerprint, self.thinner.save(), [], self.totals)

    def _count(self, sides: list[Side], why: np.ndarray) -> None:
        self.totals["readings"] += sides[READINGS].size
        self.totals["queries"] += sides[QUERIES].size
        for side in sides:
            for name, count in side.dropped.items():
                self.totals[name] += count
        for name, count in zip(KINDS, np.bincount(why, minlength=len(KINDS)), strict=True):
            self.totals[name] += int(count)

    def report(self, state_bytes: int) -> dict[str, float]:
        """Return the counters since the query first started."""
        size = {"keys": len(self.thinner), "bytes": state_bytes}
        return self.totals | {name: float(n) for name, n in (self.thinner.counters | size).items()}


def to_packets(plan: ThinPlan, sides: list[Side], found: Refreshes) -> Iterator[Packet]:
    """Return refreshes as rows: key, time, low, high, kind, cost."""
    if not len(found.row):
        return
    keys = _keys(plan.readings, sides)
    sizes = FIXED + row_bytes(keys, len(keys))
    for piece in pieces(sizes[found.row], ROWS, BYTES):
        some = Refreshes(*(array[piece] for array in found))
        yield Packet(0, to_ipc(_table(plan, keys, some)))


def _table(plan: ThinPlan, keys: pa.Table, found: Refreshes) -> pa.Table:
    cost = np.full(len(KINDS), plan.costs.value)
    cost[KINDS.index("asked")] = plan.costs.query
    made = keys.take(pa.array(found.row))
    made = made.append_column(str(plan.readings.time), [plan.readings.timestamps(found.time)])
    for name, values in ((LOW, found.low), (HIGH, found.high)):
        made = made.append_column(name, [values])
    made = made.append_column(KIND, [pc.take(pa.array(KINDS), pa.array(found.why))])
    return made.append_column(COST, [cost[found.why]])


def _keys(source: Input, sides: list[Side]) -> pa.Table:
    """Return the key columns of all readings, then those of the queries."""
    if source.exact:
        columns = [source.whole_key(pa.chunked_array([side.key for side in sides]))]
    else:
        some = [side.columns for side in sides if side.columns]
        both = zip(*some, strict=True)
        columns = [pa.chunked_array([c for part in each for c in part.chunks]) for each in both]
    return pa.table(columns, list(source.keys))


def thin_kernels(plan: ThinPlan, session: Any) -> Kernels:
    """Have all kernels compiled that a thinning needs, where its workers are on other machines."""
    if is_local(session) or cache_folder() is None:
        return Kernels()
    _rehearse(plan.rule, plan.costs, plan.limits)
    return Kernels(sent=packed(used_kernels()))


@cache
def _rehearse(rule: str, costs: Costs, limits: tuple[float, ...]) -> None:
    """Do to a reading and a query what a thinning does."""
    thinner = Thinner(rule, costs=costs, limits=limits)
    for time in range(2):
        thinner.push([1], [time], [0.5], asked=[1], asked_time=[time], delta=[0.5])
        thinner.restore(thinner.save())
