"""One bucket of a lookup, one micro-batch at a time: events in, events with their rows out.

Holds no algorithm: the engine decides what is a hit and what to keep, in the order of the events.
All keys that are not cached when a piece of work begins are fetched together before the engine is
asked, so that it knows how large each row is, and no key is fetched twice for one piece. Rows of
the relation lie in segments, by number; a slot of the engine knows the number of its row.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ... import policies
from ...engine import Lookup
from ...engine.adapt import census
from ...engine.lookup import BYTES as OF_BYTES
from ...engine.lookup import COSTS, HITS
from ...engine.saved import prefixed
from ...errors import BadInput
from ...kernel.policy import CACHING
from ...relations import Fetcher
from ...relations.fetching import distinct, said
from ..frames import Input
from ..plan import LookupPlan
from .arrow import BYTES, ROWS, equal, pieces, relaxed, row_bytes, to_ipc
from .bucket import Bucket, MicroBatch, Packet
from .segments import Segments, make_segment, should_rebuild
from .store import Stored, decode, encode

EVENTS, CHANGES = 0, 1  # the sides that packets come from
PIECE = 250_000  # events served at a time; as many rows may be at hand beside the cache
PIECE_BYTES = 256 << 20  # and about so many bytes of events
BESIDE = 9  # bytes that tell of a row whether the relation has it, and since when
# Beside the row of a key: the key, whether the relation has it, and when it was asked.
COLUMNS: dict[str, type] = {"key": np.int64, "found": np.bool_, "sent": np.int64}
BINS = 32
AGES = [f"age_{number}" for number in range(BINS)]
MILLISECOND = 1_000  # microseconds
DEAREST = 2**40  # what a row may cost: sums of millions of them are whole numbers of 64 bits
COSTS_COUNTED = ("cost_saved", "cost_fetched")
LOOKUP_COUNTED = (
    "events",
    "null",
    "hits",
    "known_missing",
    "misses",
    "found",
    "calls",
    "retries",
    "asked",
    "fetched",
    "expired",
    "changes",
    "invalidated",
    "evicted",
    "rejected",
    "bytes_saved",
    "bytes_fetched",
    *COSTS_COUNTED,
)


def lookup_counters() -> list[str]:
    """Return the names of the counters that every bucket of a lookup reports."""
    return [*LOOKUP_COUNTED, "held", "bytes", *AGES, *census.names(CACHING)]


def count_ages(microseconds: np.ndarray) -> np.ndarray:
    """Return how many ages fall below 1 ms, then from 1 to 2 ms, from 2 to 4, ...

    >>> count_ages(np.array([0, 1_500, 3_000_000]))[[0, 1, 12]].tolist()
    [1, 1, 1]
    """
    steps = np.log2(np.maximum(microseconds, MILLISECOND // 2) / MILLISECOND)
    numbers = np.clip(np.floor(steps) + 1, 0, BINS - 1).astype(np.int64)
    return np.bincount(numbers, minlength=BINS)


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


class Events(NamedTuple):
    """Some events in their order; those without a key are looked up nowhere."""

    table: pa.Table
    key_columns: pa.Table
    known: np.ndarray  # int64[k]: which events have a key
    key: np.ndarray  # int64[k]: that key, or its hash
    different: np.ndarray  # int64[d]: the different keys, in order
    first: np.ndarray  # int64[d]: the first event that has each of them
    number: np.ndarray  # int64[k]: which of the different keys an event has


def read_events(source: Input, table: pa.Table) -> Events:
    """Return events as they come in packets; times in keys get the zone that was promised, UTC."""
    column = table.column(0).combine_chunks()
    known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    key = column.drop_null().to_numpy(zero_copy_only=False)
    different, first, number = np.unique(key, return_index=True, return_inverse=True)
    columns = {name: _column(source, table, name) for name in source.keys}
    columns = {name: each.cast(relaxed(each.type)) for name, each in columns.items()}
    return Events(table, pa.table(columns), known, key, different, known[first], number)


def _column(source: Input, table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of the events; a whole-number key travels as the key itself."""
    return table.column(name) if source.is_payload(name) else source.whole_key(table.column(0))


class LookupBucket(Bucket):
    """The cache of the keys that fall into one bucket."""

    outside = ("plan", "clock", "fetcher")

    def __init__(
        self,
        plan: LookupPlan,
        number: int,
        state: bytes | None = None,
        clock: Callable[[], int] = now,
    ):
        self.number = number
        policies.choose_on_executor(plan.policy, CACHING)
        self.attach(plan, clock)
        self._heard: list[bytes] = []  # answers of the relation and times, in this micro-batch
        self._to_hear: list[bytes] = []  # those of a micro-batch that is replayed
        self.totals = dict.fromkeys((*LOOKUP_COUNTED, *AGES), 0.0)
        self.cache = plan.engine(number)
        self.rows = Segments()  # one row per key; of a key that the relation lacks it is null
        self.next_row = 0
        self.row_of = np.zeros(1, np.int64)  # by slot of the engine; for slot -1 it means nothing
        self.time = 0  # microseconds: when the present piece of work began
        self.open(state)

    def attach(self, plan: LookupPlan, clock: Callable[[], int] = now) -> None:
        """Give an image of a bucket what is not in it."""
        self.plan, self.clock = plan, clock
        self.fetcher = Fetcher(plan.source, plan.promised, plan.patience, clock)

    def resume(self, stored: Stored) -> None:
        """Go on where an earlier micro-batch stopped, perhaps with another budget or policy."""
        self.count_on(stored.totals, stored.fingerprint)
        if any(stored.fingerprint.get(n) != value for n, value in self.plan.meaning.items()):
            return  # other columns or another relation: what was cached is of no use
        saved = stored.part("cache.")
        self.rows.load(0, stored.payloads[0], {name: stored.arrays[name] for name in COLUMNS})
        self.next_row = len(self.rows)
        rows = np.arange(self.next_row)
        self._place(saved["slot"].astype(np.int64), rows)
        self.cache = Lookup.restore(
            saved,
            policy=self.plan.policy,
            budget=self.plan.share(self.number),
            goal=self.plan.engine_goal,
            cost=None if self._is_worth_the_same(stored.fingerprint) else self._worth(rows),
        )

    def count_on(self, totals: dict[str, float], before: dict[str, Any]) -> None:
        """Count on from the totals of before; costs of another column are of another unit."""
        others = () if before.get("cost") == self.plan.cost else COSTS_COUNTED
        self.totals |= {name: total for name, total in totals.items() if name not in others}

    def _is_worth_the_same(self, before: dict[str, Any]) -> bool:
        """Tell whether hits are worth what they were; an old state names no goal, which is hits."""
        goal = self.plan.goal
        same = before.get("goal", HITS) == goal
        return same and (goal != COSTS or before.get("cost") == self.plan.cost)

    def _place(self, slots: np.ndarray, rows: np.ndarray) -> None:
        """Take note which row each of some slots has."""
        most = 1 + int(slots.max(initial=-1))
        if most > len(self.row_of):
            self.row_of = np.concatenate([self.row_of, np.zeros(most, np.int64)])
        self.row_of[slots] = rows

    def advance(self, batch: MicroBatch) -> Iterator[Packet]:
        """Take changes first, then the events in their order."""
        self._heard, self._to_hear = [], list(batch.heard)
        for table in batch.tables(CHANGES):
            keys = table.column(0).drop_null().to_numpy()
            self.totals["changes"] += len(keys)
            self.totals["invalidated"] += int(self.cache.discard(keys).sum())
        if tables := batch.tables(EVENTS):
            whole = pa.concat_tables(tables)
            for piece in pieces(row_bytes(whole, whole.num_rows), PIECE, PIECE_BYTES):
                some = whole.slice(piece.start, piece.stop - piece.start).combine_chunks()
                yield from self._serve(read_events(self.plan.events, some))

    def _serve(self, events: Events) -> Iterator[Packet]:
        """Give every event its row."""
        self.time = self._now()
        self._expire()
        at = self._gather(events)
        row = self._tell_apart(events, at)
        found = self.rows.values("found", row).astype(bool)
        self._refuse_missing(events, found)
        before, worth = self.cache.counters, self._worth(at)
        cost = None if worth is None else worth[events.number]
        hit = self.cache.push(events.key, size=self._sizes(events, at), cost=cost).hit
        for name in ("evicted", "rejected"):
            self.totals[name] += self.cache.counters[name] - before[name]
        self._count(events, row, found, hit)
        self._count_saved(at, events.number[hit & found & (row == at[events.number])])
        slots = self.cache.find(events.different)
        self._place(slots[slots >= 0], at[slots >= 0])
        yield from self._packets(events, row, found)
        budget = self.plan.share(self.number) if self.plan.in_bytes else None
        if should_rebuild([self.rows], self.cache, budget, BESIDE):
            self._rebuild(self.cache.slots)

    def _expire(self) -> None:
        """Discard what has become too old."""
        if self.plan.ttl is None:
            return
        young = []
        for held in self.rows.parts:
            is_old = self._is_old(held.columns["sent"])
            old = np.flatnonzero(is_old)
            if len(old):
                keys = held.columns["key"][old]
                slots = self.cache.find(keys)
                mine = (slots >= 0) & (held.at(self.row_of[slots]) == old)
                self.totals["expired"] += int(self.cache.discard(keys[mine]).sum())
            if not is_old.all():
                young.append(held)
        self.rows.parts = young

    def heard(self) -> list[bytes]:
        """Return what the bucket learned elsewhere in this micro-batch, to replay it."""
        return self._heard

    def _hear(self, ask: Callable[[], bytes]) -> bytes:
        """Return what is learned elsewhere: asked now or, in a replay, as it was then."""
        self._heard.append(self._to_hear.pop(0) if self.silent else ask())
        return self._heard[-1]

    def _now(self) -> int:
        return int.from_bytes(self._hear(lambda: self.clock().to_bytes(8, "little")), "little")

    def _is_old(self, sent: np.ndarray) -> np.ndarray:
        return self.time - sent > self.plan.ttl

    def _gather(self, events: Events) -> np.ndarray:
        """Return the row of each different key, fetched where it is not cached."""
        slots = self.cache.find(events.different)
        at = self.row_of[slots]
        missing = np.flatnonzero(slots < 0)
        at[missing] = self._ask(events, events.first[missing])
        cached = np.flatnonzero(slots >= 0)
        while self.plan.ttl is not None and len(cached):  # to fetch may have taken long
            self.time = self._now()
            old = self._is_old(self.rows.values("sent", at[cached]))
            if not old.any():
                break
            self.totals["expired"] += int(self.cache.discard(events.different[cached[old]]).sum())
            at[cached[old]] = self._ask(events, events.first[cached[old]])
            cached = cached[~old]
        return at

    def _ask(self, events: Events, which: np.ndarray) -> np.ndarray:
        """Fetch the rows for the keys of some events, all different; return their numbers."""
        numbers = np.arange(self.next_row, self.next_row + len(which))
        if not len(which):
            return numbers
        keys = events.key_columns.take(pa.array(which))
        answer = decode(self._hear(lambda: self._fetch(keys)))
        for name, count in answer.totals.items():
            self.totals[name] += count
        row = answer.arrays["row"]
        found = answer.payloads[0].select([name for name, _ in self.plan.columns])
        table = found.take(pa.array(row, mask=row < 0))
        payload = numbered(keys.select(range(self.plan.held_keys)), table).combine_chunks()
        key = np.zeros(events.table.num_rows, np.int64)
        key[events.known] = events.key
        columns = {"key": key[which], "found": row >= 0, "sent": answer.arrays["sent"]}
        segment = make_segment(self.next_row, payload, columns)
        self.rows.add(segment)
        self.next_row += len(which)
        self.totals["bytes_fetched"] += int(segment.size[columns["found"]].sum())
        if self.plan.cost is not None:
            self.totals["cost_fetched"] += int(self._costs(numbers).sum())
        return numbers

    def _fetch(self, keys: pa.Table) -> bytes:
        """Return the answer of the relation, and what it took, as one binary."""
        before = dict(self.fetcher.counts)
        answer = self.fetcher.fetch(keys)
        counts = {name: float(count - before[name]) for name, count in self.fetcher.counts.items()}
        return encode(Stored({}, {"row": answer.row, "sent": answer.sent}, [answer.rows], counts))

    def _tell_apart(self, events: Events, at: np.ndarray) -> np.ndarray:
        """Return which row each event with a key gets: equal hashes alone are not enough.

        Where a key only looks like another it is served apart, and its row is not kept.
        """
        row = at[events.number]
        if self.plan.events.exact or not len(row):
            return row
        same = np.ones(len(row), bool)
        theirs = self.rows.take([str(place) for place in range(self.plan.held_keys)], row)
        for name, column in zip(self.plan.events.keys, theirs.columns, strict=True):
            same &= equal(events.key_columns.column(name).take(pa.array(events.known)), column)
        odd = np.flatnonzero(~same)
        if len(odd):
            first, number = distinct(events.key_columns.take(pa.array(events.known[odd])))
            row[odd] = self._ask(events, events.known[odd[first]])[number]
        return row

    def _refuse_missing(self, events: Events, found: np.ndarray) -> None:
        missing = np.flatnonzero(~found)
        if self.plan.on_missing == "error" and len(missing):
            key = said(events.key_columns, int(events.known[missing[0]]))
            raise BadInput(
                f"{self.plan.source.name} has no row for the key {key}, and {len(missing)} of "
                f"{len(found)} events here found none; pass on_missing='null' to let them pass"
            )

    def _sizes(self, events: Events, at: np.ndarray) -> np.ndarray | None:
        if not self.plan.in_bytes:
            return None
        return (self.rows.values("size", at).astype(np.int64) + BESIDE)[events.number]

    def _worth(self, rows: np.ndarray) -> np.ndarray | None:
        """Return what a hit of some rows is worth; None with the goal of hits, where all are one.

        A key without a row is worth nothing: no byte is fetched for it, and what it costs to ask
        for it is not known.
        """
        if self.plan.goal == OF_BYTES:
            return self._bytes(rows)
        return self._costs(rows) if self.plan.goal == COSTS else None

    def _bytes(self, rows: np.ndarray) -> np.ndarray:
        """Return how many bytes are fetched for some rows."""
        return self.rows.values("size", rows).astype(np.int64) * self.rows.values("found", rows)

    def _costs(self, rows: np.ndarray) -> np.ndarray:
        """Return what it costs to fetch some rows; 0 where that is null, or there is no row."""
        if not len(rows):
            return np.zeros(0, np.int64)
        column = self.rows.take([self.plan.cost_place], rows).column(0).combine_chunks()
        cost = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero((cost < 0) | (cost > DEAREST))
        if len(wrong):
            raise BadInput(
                f"{self.plan.source.name} has {cost[wrong[0]]} in the column {self.plan.cost!r} "
                f"for the key {said(self._held_keys(rows[wrong[:1]]), 0)}, and what a row costs to "
                "fetch must be from 0 to 2**40; change that, or pass another column as cost="
            )
        return cost

    def _held_keys(self, rows: np.ndarray) -> pa.Table:
        """Return the keys of some rows, as the events have them."""
        source = self.plan.events
        if source.exact:
            key = pa.array(self.rows.values("key", rows))
            return pa.table({source.keys[0]: source.whole_key(key)})
        names = [str(place) for place in range(self.plan.held_keys)]
        return self.rows.take(names, rows).rename_columns(list(source.keys))

    def _count_saved(self, at: np.ndarray, served: np.ndarray) -> None:
        """Count what was not fetched: of the rows `at`, those that were `served`."""
        self.totals["bytes_saved"] += int(self._bytes(at)[served].sum())
        if self.plan.cost is not None:
            self.totals["cost_saved"] += int(self._costs(at)[served].sum())

    def _count(self, events: Events, row: np.ndarray, found: np.ndarray, hit: np.ndarray) -> None:
        self.totals["events"] += events.table.num_rows
        self.totals["null"] += events.table.num_rows - len(row)
        self.totals["hits"] += int((hit & found).sum())
        self.totals["known_missing"] += int((hit & ~found).sum())
        self.totals["misses"] += int((~hit).sum())
        self.totals["found"] += int(found.sum())
        counted = count_ages(np.maximum(0, self._now() - self.rows.values("sent", row)))
        for name, count in zip(AGES, counted.tolist(), strict=True):
            self.totals[name] += count

    def _packets(self, events: Events, row: np.ndarray, found: np.ndarray) -> Iterator[Packet]:
        """Return the events with their rows; `row` says which row each event with a key has."""
        rows = np.full(events.table.num_rows, -1)
        rows[events.known] = row
        size = row_bytes(events.table, len(rows))
        size[events.known] += self.rows.values("size", row)
        shown = events.known[found] if self.plan.how == "inner" else np.arange(len(rows))
        if self.silent:
            return
        for piece in pieces(size[shown], ROWS, BYTES):
            yield Packet(0, to_ipc(self._joined(events, rows, shown[piece])))

    def _joined(self, events: Events, rows: np.ndarray, shown: np.ndarray) -> pa.Table:
        source, mine = self.plan.events, pa.array(shown)
        columns = {name: _column(source, events.table, name).take(mine) for name in source.names}
        places = range(self.plan.held_keys, self.plan.held_keys + len(self.plan.columns))
        theirs = self._take([str(place) for place in places], rows[shown])
        for (_, new), column in zip(self.plan.columns, theirs.columns, strict=True):
            columns[new] = column
        return pa.table(columns)

    def _take(self, names: list[str], rows: np.ndarray) -> pa.Table:
        """Return columns of some rows; where none was ever fetched they are null."""
        if self.rows.parts:
            return self.rows.take(names, rows)
        kinds = [self.plan.promised.field(name).type for name, _ in self.plan.columns]
        return pa.Table.from_arrays([pa.nulls(len(rows), kind) for kind in kinds], names=names)

    def _rebuild(self, slots: np.ndarray) -> None:
        """Keep the rows of some slots only, in this order, numbered anew."""
        self.rows.rebuild(self.row_of[slots])
        self.next_row = len(slots)
        self._place(slots, np.arange(len(slots)))

    def stored(self) -> Stored:
        """Return all that the bucket remembers; only rows that are cached are among it."""
        saved = self.cache.save()
        self._rebuild(saved["slot"].astype(np.int64))
        arrays = prefixed("cache.", saved)
        arrays |= {name: self.rows.saved(name, kind) for name, kind in COLUMNS.items()}
        worth = {"goal": self.plan.goal, "cost": self.plan.cost}
        said = self.plan.fingerprint | self.plan.meaning | worth
        return Stored(said, arrays, [self.rows.payload], self.totals)

    def report(self, state_bytes: int) -> dict[str, float]:
        """Return the counters since the query first started."""
        used = self.cache.used if self.plan.in_bytes else state_bytes
        report = self.totals | {"held": float(self.cache.held), "bytes": float(used)}
        return report | census.counters(self.cache, CACHING)


def numbered(*tables: pa.Table) -> pa.Table:
    """Return all columns as a table: by their places, since names of two sources may be equal."""
    fields = [field for table in tables for field in table.schema]
    schema = pa.schema([field.with_name(str(place)) for place, field in enumerate(fields)])
    return pa.Table.from_arrays([each for table in tables for each in table.columns], schema=schema)
