"""One bucket of the join, one micro-batch at a time: packets in, packets of results out.

Holds no algorithm: Arrow to NumPy columns, the engine, and back. Key (where it stands for itself)
and time live in the engine alone; the payload tables hold the other columns of the rows held,
side by side with the engine's tuples.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import policies
from ..engines import Join
from ..engines.shares import split_budget
from .packets import from_ipc, to_ipc
from .plan import KEY, Plan
from .shadow import Shadow
from .store import Stored, check_fingerprint, decode, encode

RESULT_ROWS = 65_536  # rows in one packet of results
SLOT_BYTES = 120  # what the engine's own tables take per tuple
WHOLE = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
COUNTED = ("arrived", "late", "null", "expired", "evicted", "refused")


class Side(NamedTuple):
    """The rows of one input: those held before, then those of this micro-batch."""

    payload: pa.Table
    key: np.ndarray  # int64
    time: np.ndarray  # int64 microseconds
    null: np.ndarray  # bool: the key is missing
    held: int  # how many of them were held before


class Outcome(NamedTuple):
    """What a micro-batch leaves behind."""

    packets: list[bytes]
    totals: dict[str, float]
    state: bytes | None  # None: as it was


class Bucket:
    """The join of the keys that fall into one bucket."""

    def __init__(self, plan: Plan, number: int, state: bytes | None = None):
        self.plan = plan
        stored = decode(state) if state is not None else None
        self.totals: dict[str, float] = {"no_time": 0.0, "matched": 0.0}
        if stored is None:
            self.join = self._fresh(number)
            self.payloads = [pa.table({}) for _ in plan.inputs]
        else:
            check_fingerprint(stored.fingerprint, plan.fingerprint)
            self.join = self._restored(stored, number)
            self.payloads = list(stored.payloads)
            self.totals = dict(stored.totals)
        self.shadow = None
        if plan.budget is not None and plan.sample > 0:
            self.shadow = Shadow(plan.joins, plan.within, plan.delay, plan.sample)
            if stored is not None:
                self.shadow.load(stored.arrays)

    def _budget(self, number: int) -> int | None:
        if self.plan.budget is None:
            return None
        return split_budget(self.plan.budget, self.plan.buckets)[number]

    def _fresh(self, number: int) -> Join:
        plan = self.plan
        return Join(
            plan.policy,
            self._budget(number),
            within=plan.within,
            joins=plan.joins,
            layout=plan.layout,
            delay=plan.delay,
            sized=plan.in_bytes,
            seed=plan.seed + number,
        )

    def _restored(self, stored: Stored, number: int) -> Join:
        saved = {
            name.removeprefix("join."): array
            for name, array in stored.arrays.items()
            if name.startswith("join.")
        }
        join = Join.restore(saved, policy=self.plan.policy, budget=self._budget(number))
        if len(join.held_rows) < len(saved["held.time"]):  # a smaller budget: some had to go
            self._drop(stored, join)
        return join

    def _drop(self, stored: Stored, join: Join) -> None:
        """Drop the payloads of rows that a smaller budget pushed out."""
        streams = stored.arrays["join.held.stream"]
        kept = join.renumber()
        for number in range(len(stored.payloads)):
            place = np.cumsum(streams == number) - 1
            mine = kept[streams[kept] == number]
            stored.payloads[number] = _rows(stored.payloads[number], place[mine])

    def take(self, packets: list[tuple[int, bytes]]) -> Outcome:
        """Take the packets of one micro-batch."""
        tables: list[list[pa.Table]] = [[] for _ in self.plan.inputs]
        for side, packet in packets:
            if packet:
                tables[side].append(from_ipc(packet))
        if not any(tables):
            return Outcome([], self._report(0), None)
        sides = self._sides(tables)
        rows, joined = self._push(sides)
        results = self._gather(sides, rows, joined)
        self._keep(sides)
        state = encode(self._stored())
        return Outcome(results, self._report(len(state)), state)

    def _sides(self, tables: list[list[pa.Table]]) -> list[Side]:
        held = self.join.tuples
        sides = []
        for number, source in enumerate(self.plan.inputs):
            mine = held["stream"] == number
            key, time = [held["key"][mine, 0]], [held["time"][mine]]
            null, payloads = [np.zeros(len(key[0]), bool)], list[pa.Table]()
            payloads.append(self.payloads[number])
            for table in tables[number]:
                table = self._without_null_times(table, source.time)
                column = table.column(KEY).combine_chunks()
                key.append(column.fill_null(0).to_numpy(zero_copy_only=False))
                null.append(column.is_null().to_numpy(zero_copy_only=False))
                time.append(_as_int64(table.column(source.time)))
                payloads.append(self._payload(table, number))
            columns = (np.concatenate(key), np.concatenate(time), np.concatenate(null))
            sides.append(Side(_together(payloads), *columns, len(key[0])))
        return sides

    def _without_null_times(self, table: pa.Table, time: str) -> pa.Table:
        column = table.column(time)
        if column.null_count:
            self.totals["no_time"] += column.null_count
            return table.filter(column.is_valid())
        return table

    def _payload(self, table: pa.Table, number: int) -> pa.Table:
        """Return the columns that the engine does not hold itself."""
        source = self.plan.inputs[number]
        gone = {KEY, source.time}
        if self.plan.exact_key:
            gone |= set(source.keys)
        return table.select([name for name in table.column_names if name not in gone])

    def _push(self, sides: list[Side]) -> tuple[np.ndarray, np.ndarray]:
        """Push the new rows; return the results as positions within the sides, and their joins."""
        new = [slice(side.held, None) for side in sides]
        stream = np.concatenate(
            [np.full(len(s.key) - s.held, number, np.int8) for number, s in enumerate(sides)]
        )
        key = np.concatenate([s.key[n] for s, n in zip(sides, new, strict=True)])
        time = np.concatenate([s.time[n] for s, n in zip(sides, new, strict=True)])
        null = np.concatenate([s.null[n] for s, n in zip(sides, new, strict=True)])
        keys = np.repeat(key[:, None], self.join.form.shape.attributes, axis=1)
        self._positions = self._number(sides)
        if self.shadow is not None:
            now = self.join.now
            taken = ~null if now is None else ~null & (time >= now - self.plan.delay)
            self.shadow.take(stream[taken], key[taken], time[taken])
        matches = self.join.push(
            stream,
            keys,
            time,
            null=null if null.any() else None,
            size=self._sizes(sides) if self.plan.in_bytes else None,
        )
        found = matches.rows
        return np.where(found >= 0, self._positions[found], -1), matches.join

    def _number(self, sides: list[Side]) -> np.ndarray:
        """Return the position within its side of every row that the engine can name."""
        held = self.join.tuples["stream"]
        positions = np.empty(len(held) + sum(len(s.key) - s.held for s in sides), np.int64)
        at = len(held)
        for number, side in enumerate(sides):
            positions[: len(held)][held == number] = np.arange(side.held)
            count = len(side.key) - side.held
            positions[at : at + count] = np.arange(side.held, side.held + count)
            at += count
        return positions

    def _sizes(self, sides: list[Side]) -> np.ndarray:
        return np.concatenate(
            [_row_bytes(s.payload.slice(s.held), len(s.key) - s.held) + SLOT_BYTES for s in sides]
        )

    def _gather(self, sides: list[Side], rows: np.ndarray, joined: np.ndarray) -> list[bytes]:
        """Put the results together as packets of rows."""
        if not self.plan.exact_key:
            rows = rows[self._really_equal(sides, rows)]
        self.totals["matched"] += len(rows)
        if self.shadow is not None and len(rows):
            self.shadow.found(sides[0].key[rows[:, 0]])
        packets = []
        for first in range(0, len(rows), RESULT_ROWS):
            part = rows[first : first + RESULT_ROWS]
            columns = [
                self._column(sides[number], number, name, part[:, number])
                for number, name, _ in self.plan.output
            ]
            names = [new for _, _, new in self.plan.output]
            packets.append(to_ipc(pa.Table.from_arrays(columns, names=names)))
        return packets

    def _column(self, side: Side, number: int, name: str, rows: np.ndarray) -> Any:
        source = self.plan.inputs[number]
        kind = source.types[source.names.index(name)]
        if name == source.time:
            zone = None if kind == "timestamp_ntz" else "UTC"
            return pa.array(side.time[rows]).view(pa.timestamp("us", zone))
        if self.plan.exact_key and name in source.keys:
            return pa.array(side.key[rows]).cast(WHOLE[kind])
        return side.payload.column(name).take(pa.array(rows))

    def _really_equal(self, sides: list[Side], rows: np.ndarray) -> np.ndarray:
        """Compare the real keys: equal hashes alone never make a result."""
        same = np.ones(len(rows), bool)
        for number in range(1, len(sides)):
            for mine, theirs in zip(
                self.plan.inputs[0].keys, self.plan.inputs[number].keys, strict=True
            ):
                left = sides[0].payload.column(mine).take(pa.array(rows[:, 0]))
                right = sides[number].payload.column(theirs).take(pa.array(rows[:, number]))
                same &= _equal(left, right)
        return same

    def _keep(self, sides: list[Side]) -> None:
        """Keep the payloads of the rows that the engine holds."""
        kept = self._positions[self.join.renumber()]
        streams = self.join.tuples["stream"]
        for number, side in enumerate(sides):
            self.payloads[number] = _rows(side.payload, kept[streams == number])

    def _stored(self) -> Stored:
        arrays = {f"join.{name}": array for name, array in self.join.save().items()}
        if self.shadow is not None:
            arrays |= self.shadow.save()
        return Stored(self.plan.fingerprint, arrays, self.payloads, self.totals)

    def _report(self, state_bytes: int) -> dict[str, float]:
        report = {
            f"{name}_{stream}": float(count)
            for name in COUNTED
            for stream, count in enumerate(self.join.counters[name])
        }
        report |= self.totals
        report["held"] = float(self.join.held)
        report["bytes"] = float(self.join.used if self.plan.in_bytes else state_bytes)
        sums = self.shadow.sums() if self.shadow is not None else {}
        for name in ("groups", "a", "e", "aa", "ae", "ee"):
            report[f"shadow_{name}"] = sums.get(name, 0.0)
        return report


def _as_int64(column: pa.ChunkedArray) -> np.ndarray:
    """Return timestamps as microseconds."""
    array = column.combine_chunks()
    if not pa.types.is_timestamp(array.type) or array.type.unit != "us":
        array = array.cast(pa.timestamp("us", getattr(array.type, "tz", None)))
    return array.view(pa.int64()).to_numpy(zero_copy_only=False)


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray:
    """Compare two columns as Spark compares keys: NaN equals NaN."""
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) == repr(b) for a, b in pairs], bool)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same.to_numpy(zero_copy_only=False) if len(same) else np.zeros(0, bool)


def _together(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables; one without columns says nothing about its rows."""
    some = [table for table in tables if table.num_columns]
    return pa.concat_tables(some).combine_chunks() if some else pa.table({})


def _rows(table: pa.Table, rows: np.ndarray) -> pa.Table:
    return table.take(pa.array(rows)).combine_chunks() if table.num_columns else table


def _row_bytes(table: pa.Table, rows: int) -> np.ndarray:
    """Return about how many bytes each row takes."""
    total = np.zeros(rows, np.int64)
    for column in table.columns:
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
            total += lengths + 4
        elif rows:
            total += -(-column.nbytes // rows)
    return total


def check_policy(plan: Plan) -> None:
    """Refuse a policy that does not exist, or that needs a window where there is none."""
    chosen = policies.choose(plan.policy, "joining")
    Join(chosen, plan.budget or 1, within=plan.within, sized=plan.in_bytes, seed=plan.seed)
