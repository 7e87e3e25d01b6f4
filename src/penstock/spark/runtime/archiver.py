"""Which rows of a bucket are archived, so that what the join misses can be found later.

Rows have places in the order in which the engine takes them, and a row that left the memory early
has also the place of the last row that it could match. Of two rows that match, the later one finds
the earlier one unless that has left before. So a pair is missed exactly if the earlier row left
early, and its last place is before the place of the later one. Both must be in the archive then:

- the earlier one is written when it leaves;
- the later one is written as it comes, if a row of its key that it may match has left early. A
  filter of the keys of these rows tells. It forgets a key when nothing can match it any more, and
  may take one key for another: that writes a row too many, and makes no result. In a band join it
  is asked for the cells beside each other that the engine looks into (`kernel.band`).

A row that was written as it came and is still held is written down once more when it leaves early,
or leaves without a partner where that is a result: its place and what became of it, no columns.

What is written leaves the bucket as small Parquet files, which Spark stores as they are: to make
rows of them and to encode these again would cost more than all else that is done for the archive.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...engine.batch import after
from ...engine.join import Join
from ...engine.join_kernel import Departures
from ...engine.join_options import PRESERVED, SEMI
from ...engine.standings import COMPLETED, EVICTED, EXPIRED, REFUSED
from ...errors import BadState
from ..plan import JoinPlan
from .arrow import BYTES, ROWS, as_microseconds, fitted, from_parquet, pieces, to_parquet
from .bucket import About, Packet
from .packets import end_task
from .results import columns_of
from .segments import Segments

CELL = "cell"  # the column of the cells of a band join
# The numbers of packets (that of results is 0): rows of a side, and what is told of some later.
LEFT, RIGHT, TOLD = 1, 2, 3
NAMES = ("row", "last", "alone")  # of what stands before the columns of a row, or alone
PLACE_BITS = 44  # of a number that tells a row: the bucket stands above its place
BESIDE = 8  # bytes of a place, and of a cell, for each row held
PER_ROW = 4  # slots of the filter for each row of the budget
PART = 16  # of a budget in bytes, what the filter may take: one in so many
FEWEST, MOST = 1 << 8, 1 << 20  # slots
TICK = 1 << 20  # microseconds, at least, in which the filter tells the time
MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
NEVER, ALWAYS = np.iinfo(np.int32).min, np.iinfo(np.int32).max
NEAR = 1 << 30  # ticks from the origin at which it still serves: 35 years


class Records(NamedTuple):
    """Some rows of one stream, as they are archived."""

    number: np.ndarray  # of the rows in their segments
    place: np.ndarray
    last: np.ndarray  # the place of the last row that it could match; -1 while it is held
    alone: np.ndarray  # bool: it left and had no partner, on a side where that is a result

    def take(self, which: np.ndarray | slice) -> "Records":
        """Return some of them."""
        return Records(*(column[which] for column in self))


def in_order(records: Sequence[Records]) -> Records:
    """Return all of them in the order of their places."""
    every = Records(*map(np.concatenate, zip(*records, strict=True)))
    return every.take(np.argsort(every.place, kind="stable"))


def filter_slots(plan: JoinPlan) -> int:
    """Return how many slots the filter of a bucket has for each side: a power of two.

    >>> from types import SimpleNamespace as Plan
    >>> filter_slots(Plan(budget=1000, in_bytes=False, buckets=1))
    4096
    """
    part = (plan.budget or 0) // plan.buckets
    wanted = part // PART // (2 * 4) if plan.in_bytes else part * PER_ROW
    return int(2 ** np.floor(np.log2(np.clip(wanted, FEWEST, MOST)) + (not plan.in_bytes) * 0.999))


def row_bytes(plan: JoinPlan) -> int:
    """Return what the archive takes of a budget in bytes for each row held."""
    return BESIDE * (1 + (plan.near is not None)) if plan.archived else 0


def archive_bytes(plan: JoinPlan) -> int:
    """Return what the archive takes of a budget in bytes before any row is held."""
    return filter_slots(plan) * 2 * 4 if plan.archived and plan.in_bytes else 0


def is_among(number: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which rows are among others. They came one after the other, so that none is sorted.

    >>> is_among(np.array([7, 5, 9]), np.array([2, 9, 5, 30])).tolist()
    [False, True, True]
    """
    if not len(number):
        return np.zeros(0, bool)
    first, last = int(number.min()), int(number.max())
    there = np.zeros(last - first + 1, bool)
    there[others[(others >= first) & (others <= last)] - first] = True
    return there[number - first]


class LeftKeys:
    """The keys of rows that left early, and until when a row of the other side may match them.

    A deadline takes 32 bits, since it is told from an origin, which goes along with the rows. What
    is too far from it is cut off, which keeps the order: a key may be kept for longer than it needs
    to be, and is never forgotten too early.
    """

    def __init__(self, slots: int, reach: tuple[int, ...], band: bool = False):
        self.reach = reach
        self.steps = (-1, 0, 1) if band else (0,)  # from a key to those that it may match
        self.tick = max(TICK, max(0, *reach) >> 4)
        self.origin = 0  # in ticks since 1970
        self.until = np.full((2, slots), NEVER, np.int32)  # in ticks, by side and slot

    def add(self, side: int, key: np.ndarray, time: np.ndarray) -> None:
        """Take note of rows that left early."""
        if not len(time):
            return
        far = after(time, np.full(len(time), side), self.reach) // self.tick
        middle = int(np.partition(far, len(far) // 2)[len(far) // 2])  # one wrong time is no reason
        if abs(middle - self.origin) > NEAR:
            self._move(middle)
        np.maximum.at(self.until[side], self._slot(key), self._told(far))

    def may_match(self, side: int, key: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Return which rows of a side may match a row of the other one that left early."""
        until, now = self.until[1 - side], self._told(time // self.tick)
        found = np.zeros(len(key), bool)
        for step in self.steps:
            found |= until[self._slot(key + step)] >= now
        return found

    def _told(self, ticks: np.ndarray) -> np.ndarray:
        """Return times as they are told from the origin: int32."""
        return np.clip(ticks - self.origin, NEVER + 1, ALWAYS).astype(np.int32)

    def _move(self, origin: int) -> None:
        """Tell all deadlines from another origin; one that was cut off is not known any more."""
        fixed = (self.until == NEVER) | (self.until == ALWAYS)
        ticks = self.until + np.int64(self.origin)
        self.origin = origin
        self.until = np.where(fixed, self.until, self._told(ticks))

    def _slot(self, key: np.ndarray) -> np.ndarray:
        mixed = key.astype(np.uint64)
        for factor in MIX:
            mixed = (mixed ^ (mixed >> np.uint64(33))) * factor
        bits = int(self.until.shape[1]).bit_length() - 1
        return (mixed >> np.uint64(64 - bits)).astype(np.int64)

    def save(self) -> dict[str, np.ndarray]:
        """Return all that is remembered."""
        return {"until": self.until, "origin": np.array([self.origin])}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Go on with what was saved, perhaps with another number of slots."""
        until = saved["until"]
        self.origin = int(saved["origin"][0]) if "origin" in saved else 0  # as it once always was
        old, new = until.shape[1], self.until.shape[1]
        if new < old:
            self.until[:] = until.reshape(2, new, old // new).max(axis=2)
        else:
            self.until[:] = np.repeat(until, new // old, axis=1)


class Archiver:
    """What a bucket writes to the archive, micro-batch by micro-batch."""

    def __init__(self, plan: JoinPlan, number: int):
        assert plan.reach is not None
        self.number = number
        self.key = "key" if plan.near is None else CELL  # the column that the filter goes by
        self.keys = LeftKeys(filter_slots(plan), plan.reach, plan.near is not None)
        # Sides on which rows are results that have no partner, or only those that have one.
        self.lonely = PRESERVED.get(plan.how, (plan.how == SEMI, False))

    def came(self, join: Join, streams: Sequence[Segments]) -> list[Records]:
        """Give the rows of a push their places, and return them by side."""
        first, taken, side = join.taken()
        place = np.arange(first, first + len(taken))
        found = []
        for number, held in enumerate(streams):
            mine = side == number
            held.assign("place", taken[mine], 2 * place[mine])
            nothing = np.full(np.count_nonzero(mine), -1)
            found.append(Records(taken[mine], place[mine], nothing, nothing > 0))
        return found

    def written(
        self, gone: Departures, came: Sequence[Records], streams: Sequence[Segments]
    ) -> dict[int, Records]:
        """Take note of rows that left, and return what is archived of them and of those that came.

        Returns it by the numbers of packets.
        """
        early = (gone.reason == EVICTED) | (gone.reason == REFUSED)
        alone = ~gone.matched & (gone.reason != COMPLETED) & np.array(self.lonely)[gone.stream]
        found: dict[int, list[Records]] = {LEFT: [], RIGHT: [], TOLD: []}
        for side, held in enumerate(streams):
            mine = gone.stream == side
            number = gone.row[mine & early]
            self.keys.add(side, held.values(self.key, number), held.values("time", number))
            place, number = held.values("place", gone.row[mine]), gone.row[mine]
            last = np.where(early, gone.last, -1)[mine]
            left = Records(number, place >> 1, last, alone[mine])
            is_written = place & 1 == 1
            found[LEFT + side].append(left.take(early[mine] & ~is_written))
            found[TOLD].append(left.take((early | alone)[mine] & is_written))
        for side, records in enumerate(came):
            found[LEFT + side].append(self._may_miss(side, records, streams[side], gone, alone))
        return {kind: in_order(records) for kind, records in found.items()}

    def _may_miss(
        self, side: int, came: Records, held: Segments, gone: Departures, alone: np.ndarray
    ) -> Records:
        """Return the rows that came and may have missed a partner, of those not written yet."""
        came = came.take(~is_among(came.number, gone.row[gone.reason != EXPIRED]))
        key, time = held.values(self.key, came.number), held.values("time", came.number)
        came = came.take(self.keys.may_match(side, key, time))
        held.assign("place", came.number, 2 * came.place + 1)
        return came._replace(alone=is_among(came.number, gone.row[alone]))

    def packets(
        self, plan: JoinPlan, kind: int, streams: Sequence[Segments], records: Records
    ) -> Iterator[Packet]:
        """Return records as packets: rows with their columns, or what is told of old ones."""
        if kind == TOLD:
            for first in range(0, len(records.number), ROWS):
                some = records.take(slice(first, first + ROWS))
                yield Packet(kind, to_parquet(self._table(some)), About(len(some.number)))
            return
        side = kind - LEFT
        source, held = plan.inputs[side], streams[side]
        for piece in pieces(held.values("size", records.number), ROWS, BYTES):
            some = records.take(piece)
            table, time = self._table(some), held.values("time", some.number)
            for place, column in enumerate(columns_of(source, held, source.names, some.number)):
                table = table.append_column(f"c{place}", column)
            about = About(len(time), int(time.min()), int(time.max()))
            yield Packet(kind, to_parquet(table), about)

    def _table(self, records: Records) -> pa.Table:
        """Return the numbers of some records."""
        bucket = np.int64(self.number) << PLACE_BITS
        last = pa.array(bucket | records.last, mask=records.last < 0)
        columns = [pa.array(bucket | records.place), last, pa.array(records.alone)]
        return pa.table(columns, list(NAMES))

    def save(self, streams: Sequence[Segments]) -> dict[str, np.ndarray]:
        """Return all that is remembered, of keys and in the rows held."""
        found = {f"place.{side}": held.saved("place") for side, held in enumerate(streams)}
        return found | self.keys.save()


class Reading(NamedTuple):
    """How packets of an archive are read."""

    schema: pa.Schema  # of what is made of them: the columns of rows, then `NAMES` and a number
    time: int | None = None  # which column is compared with `since`
    since: int | None = None  # microseconds: older rows are left out


def make_reader(reading: Reading) -> Callable:
    """Return the function for `mapInArrow` that makes rows of packets with their micro-batches.

    Of a row that left alone the number of the micro-batch is told, in which that became known.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, packet in zip(batch.column(0), batch.column(1), strict=True):
                try:
                    table = from_parquet(packet.as_buffer())
                except (pa.ArrowException, OSError) as error:
                    raise BadState(
                        f"the archive is damaged: a packet of micro-batch {number} cannot be read"
                    ) from error
                yield from _read(table, number, reading).to_batches()
        end_task()

    return read


def _read(table: pa.Table, batch: pa.Scalar, reading: Reading) -> pa.Table:
    if reading.since is not None:
        new = as_microseconds(table.column(f"c{reading.time}")) >= reading.since
        table = table.filter(pa.array(new))
    number = pa.repeat(batch, len(table))
    alone = pc.if_else(table.column(NAMES[2]), number, None)
    columns = [*table.columns[len(NAMES) :], *table.columns[:2], alone, number]
    return fitted(pa.Table.from_arrays(columns, reading.schema.names), reading.schema)
