"""One bucket of the join, one micro-batch at a time: packets in, packets of results out.

Holds no algorithm: Arrow to NumPy columns, the engine, and back. The engine says which rows match,
by their numbers; the payloads lie in segments by these numbers.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ... import policies
from ...engine import Join
from ...engine.adapt import census
from ...engine.join import Matches
from ...engine.join_options import ANTI, FIRST, INNER, ONE, PRESERVED, SEMI
from ...engine.ledger import split_budget
from ...engine.saved import prefixed
from ...kernel.band import make_band
from ...kernel.policy import JOINING
from ...profile.lossy import LossyCounter
from ..frames import Input
from ..plan import JoinPlan
from ..recall.estimate import SUMS, no_sums
from ..recall.keys import KeyWatch
from ..recall.pairs import PairWatch
from ..recall.watched import FIRST_BYTES, UNLIMITED, Arrived
from .archiver import CELL, Archiver, Records, archive_bytes, row_bytes
from .arrow import as_microseconds, concatenated, first_row, gathered, plain_numbers
from .bucket import Bucket, MicroBatch, Packet
from .results import Absent, Results, gather
from .segments import LARGEST_BYTES, SEGMENT, Segments, make_segment, should_rebuild
from .sharing import NAMED, Share
from .store import Stored

HOT = 0.005  # the share of the rows that a key has which the figures of a query name
LONGEST = 100  # characters of a key that are reported
PAIRS_ERROR = 0.001  # of the share of the pairs that a key makes
ANOTHER = np.int64(0x5851F42D4C957F2D)  # takes the keys of one join away from those of another
SLACK = 1_000  # microseconds for which Spark's own join holds a row after its last moment
STEPS = 64  # in which rows make room for those that are watched
COUNTED = (
    "arrived",
    "late",
    "null",
    "expired",
    "evicted",
    "rejected",
    "completed",
    "unmatched",
    "unmatched_evicted",
)


ESTIMATED = ("matched", *SUMS, "gone")  # what an estimate of recall is made of


def counter_names(streams: int) -> list[str]:
    """Return the names of the counters that every bucket reports."""
    names = [f"{name}_{stream}" for name in COUNTED for stream in range(streams)]
    names += ["no_time", "held", "bytes", "share"]
    # Of results, then of the rows of each stream.
    names += ["matched", *(f"watch_{each}" for each in SUMS), "gone"]
    for stream in range(streams):
        names += [f"rows_{each}_{stream}" for each in ESTIMATED]
    return names + census.names(JOINING)


class New(NamedTuple):
    """Rows of a micro-batch, stream by stream."""

    stream: np.ndarray
    key: np.ndarray  # int64
    time: np.ndarray  # int64
    size: np.ndarray  # bytes of the payload
    null: np.ndarray  # bool: the key is missing
    timeless: np.ndarray  # bool: the time is; only of rows that are results nevertheless
    value: np.ndarray  # what must be near, as `Band.read` returns it; of no rows without a band


class JoinBucket(Bucket):
    """The join of the keys that fall into one bucket."""

    def __init__(self, plan: JoinPlan, number: int, state: bytes | None = None):
        self.plan = plan
        self.number = number
        self.band = make_band(plan.near)
        policies.choose_on_executor(plan.policy, JOINING)
        self.share = Share(plan, number, fixed_bytes(plan)) if plan.is_shared else None
        # Of the budget, as long as there is no share.
        self.allowed = None if plan.budget is None else _part(plan, number)
        self.totals = {"no_time": 0.0, "matched": 0.0}
        self.rows = [Segments() for _ in plan.inputs]  # by stream
        self.watch: PairWatch | KeyWatch | None = None
        self.pairs = LossyCounter(PAIRS_ERROR)  # results by key, under a budget
        self.names: dict[tuple[int, int], str] = {}  # of frequent keys, by join and key
        # Microseconds: rows up to it come too late. Spark's watermark begins in 1970.
        self.watermark = 0 if plan.watermark else None
        self.archiver = Archiver(plan, number) if plan.archived else None
        if state is None:
            self.join = make_join(plan, number)
            self.join.late_until = self.watermark
            if plan.budget is not None:
                self.watch = make_watch(plan, number)
        self.open(state)

    def resume(self, stored: Stored) -> None:
        """Go on where an earlier micro-batch stopped, perhaps with another budget or policy."""
        plan, number = self.plan, self.number
        saved = stored.part("join.")
        archive = stored.part("archive.")
        self._load_rows(saved, stored.payloads, archive)
        if self.archiver is not None:
            self.archiver.keys.restore(archive)
        unsized = plan.in_bytes and "held.size" not in saved  # the budget was one of rows
        share = None if self.share is None else self.share.resume(stored.part("ledger."))
        resized = None if share is None else share - watch_bytes(plan)
        self.join = Join.restore(
            saved,
            policy=plan.policy,
            budget=bucket_budget(plan, number),
            goal=plan.goal,
            resized=resized,
            in_bytes=plan.in_bytes,
            size=self._held_sizes(saved["held.stream"]) if unsized else None,
        )
        if plan.budget is not None or not plan.watermark:
            if self.join.delay == UNLIMITED:  # the clock was set for that: the watermark stays
                self.join.shift_clock(plan.delay - UNLIMITED)
            self.join.delay = plan.delay
        self.watermark = stored.fingerprint["watermark"]
        self.join.late_until = self.watermark
        self.totals = dict(stored.totals)
        pairs = stored.part("pairs.")
        self.pairs = LossyCounter.restore(pairs) if pairs else self.pairs
        self._resume_watch(stored.part("shadow."), saved)
        if self.share is None:
            self._fit()
        if self.watch is not None:
            self.watch.forget(self._late_until, self._gone())

    def _load_rows(
        self,
        saved: dict[str, np.ndarray],
        payloads: list[pa.Table],
        archive: dict[str, np.ndarray],
    ) -> None:
        """Put the rows held into segments; they are numbered stream by stream."""
        first = 0
        for number, payload in enumerate(payloads):
            mine = saved["held.stream"] == number
            key = saved["held.key"][mine]
            key = key[:, 0] if self.band is None else self.band.equal(key)
            columns = {"key": key, "time": saved["held.time"][mine]}
            if self.archiver is not None:
                columns["place"] = archive[f"place.{number}"]
                if self.band is not None:
                    columns[CELL] = saved["held.key"][mine][:, 0]
            self.rows[number].load(first, payload, columns)
            first += int(mine.sum())

    def _held_sizes(self, streams: np.ndarray) -> np.ndarray:
        """Return the bytes of the rows held, in the engine's order."""
        sizes = np.empty(len(streams), np.int64)
        for number, held in enumerate(self.rows):
            sizes[streams == number] = held.saved("size")
        return self._sizes(sizes)

    def _sizes(self, payload: np.ndarray) -> np.ndarray:
        """Return the bytes of rows whose payloads take so many."""
        return np.maximum(1, payload + row_bytes(self.plan))

    def _resume_watch(self, watch: dict[str, np.ndarray], saved: dict[str, np.ndarray]) -> None:
        """Go on estimating, which begins with the first budget and then never ends."""
        if self.plan.budget is None and not watch:
            return
        self.watch = make_watch(self.plan, self.number)
        stream, time = saved["held.stream"].astype(np.int64), saved["held.time"]
        rows = np.argsort(np.argsort(stream, kind="stable"), kind="stable")  # stream by stream
        key = saved["held.key"][:, 0] if self.band is None else saved["held.key"]
        held = Arrived(stream, key, time, rows)
        matched = np.unpackbits(saved["matched"], count=len(time)).astype(bool)
        evicted_now = len(time) - self.join.held
        self.watch.resume(watch, held, matched, self._gone() - evicted_now)

    def _gone(self) -> int:
        """Return how many rows were evicted or rejected so far."""
        counters = self.join.counters
        return int(counters["evicted"].sum() + counters["rejected"].sum())

    def advance(self, batch: MicroBatch) -> Iterator[Packet]:
        """Take the packets of one micro-batch and return those of the results."""
        after = self._take_share(batch.digests)
        for part in self._results(batch):
            if (part.rows[0] >= 0).all():  # and it is no row without a partner
                self._note_matches(part)
            if part.packet is not None:
                yield part.packet
        came = [] if self.archiver is None else self.archiver.came(self.join, self.rows)
        self._tell_time(batch.watermark)
        yield from self._left(came)
        self.allowed = after
        self._fit()  # the share may be smaller, and more rows may be watched than before
        yield from self._left([])
        self._drop_expired_rows()

    def finish(self) -> Iterator[Packet]:
        """Return the packets of the rows that have no partner when the input ends."""
        yield from self._departed(self.join.finish())

    def _departed(self, found: Matches) -> Iterator[Packet]:
        """Return the packets of rows that left without a partner."""
        for part in gather(self.plan, self.rows, *found, self.silent):
            if part.packet is not None:
                yield part.packet

    def _left(self, came: Sequence[Records]) -> Iterator[Packet]:
        """Return the packets of rows that left: results without a partner, and for the archive."""
        yield from self._departed(self.join.departed())
        if self.archiver is not None:
            written = self.archiver.written(self.join.departures(), came, self.rows)
            for kind, records in {} if self.silent else written.items():
                yield from self.archiver.packets(self.plan, kind, self.rows, records)
        if self.watch is not None:
            self.watch.forget(self._late_until, self._gone())

    def _note_matches(self, part: Results) -> None:
        """Count results, and show them to what estimates recall."""
        self.totals["matched"] += len(part.rows)
        if self.watch is not None:
            first = self.plan.joins[part.join][0][0]
            keys = self.rows[first].values("key", part.rows[:, 0])
            self.watch.found(part.join, part.rows, keys)
            if self.plan.inputs[first].keys:
                self.pairs.push(keys + part.join * ANOTHER)  # of another join: another key

    @property
    def _late_until(self) -> int | None:
        """The time up to which rows come too late: by Spark's watermark, or in a batch by ours."""
        if self.plan.watermark or self.join.watermark is None:
            return self.watermark
        return self.join.watermark - 1

    @property
    def _slack(self) -> int:
        """For how long a row is held after its last moment: as in Spark's own join.

        Where we set the watermark it is behind by as much already. What follows in the query would
        take a row without a partner, held for longer, for a late one.
        """
        return 0 if self.plan.behind else SLACK

    def _tell_time(self, watermark: int | None) -> None:
        """Go on to the watermark that Spark has reached: rows up to it come too late from now."""
        if watermark is None:
            return
        self.watermark = self.join.late_until = watermark
        # With a budget the engine expires rows as others come, unless these are waited for, or what
        # became of them: a semi join corrects a row that is alone (see `reconcile`).
        how, archived = self.plan.how, self.plan.archived
        if self.plan.budget is None or (how != INNER and (how != SEMI or archived)):
            self._expire(watermark - self._slack + 1)

    def _expire(self, before: int) -> None:
        """Drop what can match no row of this time or later."""
        self.join.advance(np.full(len(self.plan.inputs), before + (self.join.delay or 0)))
        self.join.expire()

    def _expire_ahead(self, watermark: int | None, time: np.ndarray) -> None:
        """Drop what none of the rows that have come, at these times, nor any later one can match.

        Else what expires with this micro-batch would be held beside all of its rows.
        """
        if watermark is not None and self.plan.budget is None:
            taken = time if self._late_until is None else time[time > self._late_until]
            if len(taken):
                self._expire(min(watermark - self._slack + 1, int(taken.min())))

    def is_changed(self, batch: MicroBatch) -> bool:
        """Tell whether a micro-batch has changed what the bucket remembers."""
        return bool(batch.packets or batch.digests or batch.watermark is not None)

    def _take_share(self, digests: Sequence[bytes]) -> int | None:
        """Give the engine what it may have in this micro-batch; return what it may have after."""
        after = self.allowed
        if self.share is not None:
            self.allowed, after = self.share.take(digests)
        self._fit()
        return after

    def _fit(self) -> None:
        """Give the engine its share, less the bytes that the estimate of recall takes."""
        if self.allowed is not None:
            engine = self.allowed - watch_bytes(self.plan)
            rows = max(0, engine - self.join.footprint.fixed)
            step = 1 + rows // STEPS  # so that it seldom changes
            watching = -(-self._watching_bytes // step) * step
            self.join.resize(engine - min(watching, rows))

    @property
    def _watching_bytes(self) -> int:
        """What the estimate of recall takes of a budget in bytes, beside what it begins with."""
        if self.watch is None or not self.plan.in_bytes:
            return 0
        return max(0, self.watch.nbytes + archive_bytes(self.plan) - watch_bytes(self.plan))

    def _results(self, batch: MicroBatch) -> Iterator[Results]:
        """Push the new rows, and return the results in parts as they are found."""
        first = self.join.next_row
        new = self._read(batch)
        key = new.key if self.band is None else self.band.keys(new.key, new.value)
        stream, time, null = new.stream, new.time, new.null | new.timeless
        if self.watch is not None:
            late = self._late_until
            rows = np.flatnonzero(~null if late is None else ~null & (time > late))
            taken = Arrived(stream[rows], key[rows], time[rows], rows + first)
            self.watch.take(first, time, taken)
        self._expire_ahead(batch.watermark, time[~null] if null.any() else time)
        parts = self.join.push_parts(
            stream,
            key,
            time,
            null=null if null.any() else None,
            size=self._sizes(new.size) if self.plan.in_bytes else None,
            pairs=True,
        )
        absent = Absent(np.flatnonzero(new.null) + first, np.flatnonzero(new.timeless) + first)
        for found, joined in parts:
            yield from gather(self.plan, self.rows, found, joined, self.silent, absent)

    def _read(self, batch: MicroBatch) -> New:
        """Put the new rows into segments, and return them stream by stream."""
        none, flags = np.zeros(0, np.int64), np.zeros(0, bool)
        first, new = self.join.next_row, [New(none, none, none, none, flags, flags, none)]
        preserved = PRESERVED.get(self.plan.how, (False,) * len(self.plan.inputs))
        for stream, source in enumerate(self.plan.inputs):
            tables = batch.tables(stream)
            if not preserved[stream]:  # a row without a partner is no result
                tables = [self._without_null_times(source, table) for table in tables]
            batches = concatenated(tables).to_batches() if tables else []
            for some in filter(None, gathered(batches, SEGMENT, LARGEST_BYTES)):
                new.append(self._read_rows(stream, source, pa.Table.from_batches(some), first))
                first += len(new[-1].key)
        return New(*map(np.concatenate, zip(*new, strict=True)))

    def _read_rows(self, stream: int, source: Input, table: pa.Table, first: int) -> New:
        """Return rows as they come in packets, numbered from `first` on."""
        table = table.combine_chunks()
        key, time = table.column(0).combine_chunks(), table.column(source.time)
        null, timeless = key.is_null().to_numpy(zero_copy_only=False), time.is_null().to_numpy()
        if timeless.any():  # no window holds them, so that they match nothing
            name, count = f"timeless_{stream}", int(timeless.sum())
            self.totals["no_time"] += count
            self.totals[name] = self.totals.get(name, 0.0) + count
            time = time.fill_null(pa.scalar((self._late_until or 0) + 1).cast(time.type))
        columns = {
            "key": key.fill_null(0).to_numpy(zero_copy_only=False),
            "time": as_microseconds(time),
        }
        payload = table.select([name for name in source.names if source.is_payload(name)])
        value = null[:0]
        if self.band is not None and source.near is not None:
            near = plain_numbers(table.column(source.near).combine_chunks())
            value, _ = self.band.read(near)
        if self.archiver is not None:
            columns["place"] = np.zeros(len(null), np.int64)  # known once they are taken
            if self.band is not None:
                columns[CELL] = self.band.keys(columns["key"], value)[:, 0]
        segment = make_segment(first, payload, columns)
        self.rows[stream].add(segment)
        key, time = columns["key"], columns["time"]
        return New(np.full(len(key), stream), key, time, segment.size, null, timeless, value)

    def _without_null_times(self, source: Input, table: pa.Table) -> pa.Table:
        column = table.column(source.time)
        if column.null_count:
            self.totals["no_time"] += column.null_count
            return table.filter(column.is_valid())
        return table

    def _drop_expired_rows(self) -> None:
        """Drop segments that have expired, and rebuild the others where few rows are live."""
        watermark, reach = self.watermark, self.plan.reach
        if watermark is not None and reach is not None and self.plan.budget is None:
            for held, far in zip(self.rows, reach, strict=True):
                last = watermark - SLACK - max(0, far)
                held.parts = [part for part in held.parts if part.newest > last]
        if should_rebuild(self.rows, self.join, self.allowed if self.plan.in_bytes else None):
            self._rebuild()

    def _rebuild(self) -> None:
        """Keep the rows that the engine holds, numbered anew."""
        stream, old, new = self.join.renumber()
        first = 0
        for number, held in enumerate(self.rows):
            mine = old[stream == number]
            held.rebuild(mine, first)
            first += len(mine)
        if self.watch is not None:
            order = np.argsort(old)
            self.watch.renumber(old[order], new[order])

    def hottest(self) -> str | None:
        """Return what is shown of this bucket's keys, as JSON: the frequent ones with their
        share of the rows, and the most results that a key has."""
        if self.watch is None:
            return None
        pairs = self.pairs.most(NAMED).lowest.tolist()
        return json.dumps({"hottest": self._frequent(), "pairs": pairs})

    def _frequent(self) -> list[dict[str, str | float]]:
        """Return the keys of this bucket that are frequent, with their share of the rows."""
        if self.share is None:
            return []
        found = [each for each in self.share.hottest() if each[2] >= HOT]
        self.names = {
            (join, key): self.names.get((join, key)) or self._name_of(join, key)
            for join, key, _ in found
        }
        return [
            {"key": self.names[join, key] or f"(hash {key})", "share": round(share, 4)}
            for join, key, share in found
        ]

    def _name_of(self, join: int, key: int) -> str:
        """Return a key as a person reads it; empty where no row with it is held.

        So it is where Python has no such value: Spark knows more dates.
        """
        for stream, _ in self.plan.joins[join]:
            source = self.plan.inputs[stream]
            if source.exact:
                return str(key)
            for part in reversed(self.rows[stream].parts):
                here = np.flatnonzero(part.columns["key"] == key)
                if len(here):
                    named = [name for name in source.keys if source.is_payload(name)]
                    row = part.payload.select(named).slice(int(here[-1]), 1)
                    with suppress(OverflowError, ValueError):
                        return ", ".join(str(value)[:LONGEST] for value in first_row(row))
        return ""

    def stored(self) -> Stored:
        """Return all that the bucket remembers; only rows that are held are among it."""
        self._rebuild()
        arrays = prefixed("join.", self.join.save(copy=False))
        if self.watch is not None:
            arrays |= prefixed("shadow.", self.watch.save())
            arrays |= prefixed("pairs.", self.pairs.save())
        if self.share is not None:
            arrays |= prefixed("ledger.", self.share.save())
        if self.archiver is not None:
            arrays |= prefixed("archive.", self.archiver.save(self.rows))
        said = self.plan.fingerprint | {"watermark": self.watermark}
        return Stored(said, arrays, [held.payload for held in self.rows], self.totals)

    def report(self, state_bytes: int) -> dict[str, float]:
        """Return the counters since the query first started."""
        counters = self.join.counters
        report = {
            f"{name}_{stream}": float(count)
            for name in (*COUNTED, "rows_matched")
            for stream, count in enumerate(counters[name])
        }
        report |= self.totals
        for stream in range(len(self.plan.inputs)):  # those that the engine took for keyless
            for name in ("arrived", "null"):
                report[f"{name}_{stream}"] -= self.totals.get(f"timeless_{stream}", 0.0)
        report["held"] = float(self.join.held)
        report["share"] = float(self.join.budget or 0)
        used = self.join.used + watch_bytes(self.plan) + self._watching_bytes
        report["bytes"] = float(used if self.plan.in_bytes else state_bytes)
        sums, of_rows = no_sums(), [no_sums()] * len(self.plan.inputs)
        if self.watch is not None:
            sums, of_rows = sums_of(self.plan, self.watch)
        report |= {f"watch_{name}": value for name, value in sums.items()}
        report["gone"] = gone = float(self._gone())
        report |= {
            f"rows_{name}_{stream}": value
            for stream, sums in enumerate(of_rows)
            for name, value in (sums | {"gone": gone}).items()
        }
        return report | census.counters(self.join, JOINING)


def sums_of(
    plan: JoinPlan, watch: PairWatch | KeyWatch
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return what the estimates of recall need, of results and of the rows of each stream.

    Where a left row has one partner, results are left rows, and what right rows would have found
    depends on all the others. With one partner for all of them so do the results.
    """
    of_rows = watch.row_sums()
    unknown = no_sums() | {"blind": 1.0}
    if plan.near is not None:  # which rows found none of several partners is not followed
        of_rows = [unknown, unknown]
    if plan.match == ONE:
        return unknown, [unknown, unknown]
    if plan.match == FIRST or plan.how in (SEMI, ANTI):
        return of_rows[0], [of_rows[0], unknown]
    return watch.sums(), of_rows


def _part(plan: JoinPlan, number: int) -> int:
    """Return an equal part of the budget."""
    return split_budget(plan.budget or 0, plan.buckets)[number]


def bucket_budget(plan: JoinPlan, number: int) -> int | None:
    """Return what the engine of one bucket may hold, as it starts."""
    if plan.budget is None:
        return None
    return max(1, _part(plan, number) - watch_bytes(plan))  # which an engine refuses in bytes


def watch_bytes(plan: JoinPlan) -> int:
    """Return what the bucket takes of a budget in bytes beside the engine, before any row comes.

    That is what estimates recall, while it watches no row, and the filter of the archive.
    """
    pairs = all(len(join) == 2 for join in plan.joins)
    watching = FIRST_BYTES * len(plan.inputs) if plan.in_bytes and plan.sample and pairs else 0
    return watching + archive_bytes(plan)


def least_bytes(plan: JoinPlan, engine: int) -> int:
    """Return the smallest share of a bucket that leaves its engine so many bytes.

    The filter of an archive grows with the share, so it is looked for from below.
    """
    least = 0
    while (more := engine + watch_bytes(replace(plan, budget=plan.buckets * least))) > least:
        least = more
    return least


@lru_cache(maxsize=16)
def fixed_bytes(plan: JoinPlan) -> int:
    """Return what one bucket takes of a budget in bytes before it holds any row."""
    return make_join(plan, 0).footprint.fixed + watch_bytes(plan) if plan.in_bytes else 0


def make_watch(plan: JoinPlan, number: int) -> PairWatch | KeyWatch:
    """Return what estimates the recall of a bucket."""
    pairs = all(len(join) == 2 for join in plan.joins)
    return PairWatch(plan, number) if pairs else KeyWatch(plan)


def make_join(plan: JoinPlan, number: int) -> Join:
    """Return the engine of a bucket, as it starts."""
    return Join(
        plan.policy,
        bucket_budget(plan, number),
        goal=plan.goal,
        within=plan.within,
        near=plan.near,
        how=plan.how,
        match=plan.match,
        joins=plan.joins,
        layout=plan.layout,
        # Without a budget nothing expires before Spark says so; with one, expired rows make room.
        delay=UNLIMITED if plan.budget is None and plan.watermark else plan.delay,
        clock=plan.clock,
        in_bytes=plan.in_bytes,
        seed=plan.seed + number,
        departures=plan.archived,
    )
