"""What a join with an archive owes: exactly the results that it missed, each once.

The archive holds, in folders `batch-N`, the rows that left the memory early and those that they
would have met. A step takes all that was committed up to some micro-batch N, writes what is to be
added (`+`) and taken away (`-`), and then `base-N`: the rows of which more can be missed. That is
the mark that it is done; all older folders are removed. How far a step goes is claimed before it
begins, so that a run which finds it begun, by one that was killed or that runs meanwhile, makes the
same step.

Where the archive is the inputs, steps go from watermark to watermark: the inputs of that time are
joined anew and compared with the results.
"""

import json
import os
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any, NamedTuple

from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...engine.join_options import ANTI, INNER, PRESERVED, SEMI
from ...errors import BadInput
from ..frames import arrow_schema, check_frame, micros, quote
from ..join import join
from ..metrics import Metrics
from ..near import Near, are_near, cell_of, near_span
from ..runtime.archiver import PLACE_BITS, Reading, make_reader
from ..runtime.bucket import About
from ..session import uses_wide_types
from .folders import COMPACT, Folders, last_commit, watermark_of
from .write import (
    ADDED_BY,
    KEPT_IN,
    SIDES,
    WATERMARK,
    Added,
    Ends,
    Info,
    Path,
    added_upto,
    missed,
    read_info,
)

CHANGE = "change"  # the column that says whether a row is added or taken away
CELL = 4  # windows in a cell of time
CELL_BITS = 14, 2  # of a number that tells a key: what is left of cells of time and of values
SLACK = 2_000  # microseconds: rows are held a millisecond longer than they can match
ROUND_BYTES = 256 << 20  # of an archive, for each file of what is kept of it
FEW_BYTES = 4 << 20  # of an archive, in which something is told of fewer rows than these:
TOLD_ROWS = 1_000_000  # of which something was told later: so many are sent to all tasks
PART_BYTES = 16 << 20  # of an archive or of inputs, for one part of a shuffle
REMOVERS = 8  # threads that remove folders: each waits for the file system
CORRECTIONS = "corrections"
OWN = ("row", "last", "alone", "batch")  # numbers beside the columns of a row
PACKETS = T.StructType(
    [
        T.StructField("batch", T.IntegerType()),
        T.StructField("side", T.IntegerType()),  # null where packets tell of rows more
        T.StructField("packet", T.BinaryType()),
        *(T.StructField(name, T.LongType()) for name in About._fields),
    ]
)
START = datetime.fromtimestamp(0, UTC)
MICRO = timedelta(microseconds=1)


@dataclass(frozen=True)
class Reconciled:
    """What a run of `reconcile` has done."""

    upto: int  # the last micro-batch of which everything is found now; of inputs, the watermark
    watermark: datetime | None  # results whose rows are all older than this are complete
    corrections: DataFrame  # of this run; the first column, `change`, is + or -


@dataclass(frozen=True)
class Owed:
    """How much is to be reconciled."""

    bytes: int  # of the archive that are not reconciled yet
    rows: int
    oldest: datetime | None  # the time of the oldest of them
    pairs: float | None = None  # results that are owed, estimated
    pairs_low: float | None = None
    pairs_high: float | None = None


class Step(NamedTuple):
    """One step of reconciling: up to where, and whether results are appended to the others."""

    upto: int
    append: bool


class Archive:
    """An archive as it stands."""

    def __init__(self, session: SparkSession, path: Path):
        self.session = session
        given = Folders(session, os.fspath(path))
        places = (given, given.within(KEPT_IN))
        found = [(folders, info) for folders in places if (info := read_info(folders))]
        if not found:
            raise BadInput(
                f"there is no archive in {given.root}; pass the folder that was archive=, or that "
                "of the results with archive='inputs', after penstock.spark.write has started"
            )
        self.folders, self.info = found[0]
        self.checkpoint = Folders(session, self.info.checkpoint)
        self.results = Folders(session, self.info.results)
        self.fixes = self.folders.within(CORRECTIONS)
        self.bases = self.folders.numbers("base-")
        self._packets: dict[int, DataFrame] = {}  # by how far they go
        self._told: dict[int, DataFrame | None] = {}

    @property
    def done(self) -> int:
        """How far everything is reconciled, -1 before the first step: see `Step`."""
        return self.bases[-1] if self.bases else -1

    def reached(self, until: int | None = None) -> int:
        """Return how far one can go: what is committed, or is before some time."""
        batch = last_commit(self.checkpoint)
        if batch is None:
            return self.done
        if self.info.inputs:
            watermark = self.watermark(batch)
            upto = watermark if until is None else min(until, watermark)
            return max(self.done, upto) if upto > 0 else self.done
        if until is not None:
            known = {*self.checkpoint.within("offsets").numbers("")}
            known |= {*self.folders.numbers("batch-")}  # Spark keeps a hundred offsets
            early = sorted(n for n in known if self.done < n <= batch)
            passed = bisect_right(early, until, key=self.watermark)
            batch = early[passed - 1] if passed else self.done
        return max(self.done, batch)

    def next_step(self, goal: Step) -> Step | None:
        """Return the step to make now, None if there is nothing to do: one begun comes first."""
        name = f"_claim-{self.done}"
        said = self.folders.read_text(name)
        if said is None:
            if goal.upto <= self.done:
                return None
            said = self.folders.claim(name, json.dumps(goal))
        return Step(*json.loads(said))

    def new_batches(self, upto: int) -> list[str]:
        """Return the names of the folders of micro-batches that are not reconciled yet."""
        return [f"batch-{n}" for n in self.folders.numbers("batch-") if self.done < n <= upto]

    def packets(self, upto: int) -> DataFrame:
        """Return the packets that were archived up to a micro-batch; they are listed once."""
        if upto not in self._packets:
            names = [] if self.info.inputs else self.new_batches(upto)
            self._packets[upto] = self._read(names, PACKETS)
        return self._packets[upto]

    def kept(self) -> DataFrame:
        """Return the rows that earlier steps have kept."""
        names = [] if self.info.inputs else [f"base-{n}" for n in self.bases[-1:]]
        return self._read(names, self.info.type)

    def _read(self, names: list[str], kind: T.StructType) -> DataFrame:
        if not names:
            return empty(self.session, kind)
        return self.folders.read(names, kind)

    def rows(self, upto: int, side: str, since: int | None = None) -> DataFrame:
        """Return the rows of a side, of some time on, with all that is known of them: see `_own`.

        As few numbers as possible stand beside the columns of a row, since all are shuffled.
        """
        mine = F.col("side") == SIDES.index(side)
        packets, kept = (frame.where(mine) for frame in (self.packets(upto), self.kept()))
        if since is not None:
            packets = packets.where(F.col("newest") >= since)
            kept = kept.where(_from(*self._time(side), since))
        columns: Any = self.info.type[side].dataType
        time = columns.names.index(self.info.times[SIDES.index(side)])
        rows = self._opened(packets, side, columns, time, since)
        rows = rows.unionAll(kept.select(f"{side}.*", *OWN).toDF(*rows.columns)).alias(side)
        told = self.told(upto)
        if told is None:
            return rows
        rows = rows.join(told, _own(side, "row") == _own("told", "row"), "left")
        names = {name: _name(side, name) for name in OWN}
        for name in ("last", "alone"):
            rows = rows.withColumn(names[name], F.coalesce(_own("told", name), names[name]))
        mine_only = (f"{side}.{quote(name)}" for name in columns.names)
        return rows.select(*mine_only, *names.values()).alias(side)

    def _opened(
        self,
        packets: DataFrame,
        side: str,
        columns: T.StructType,
        time: int | None = None,
        since: int | None = None,
    ) -> DataFrame:
        """Return the rows of packets: their columns, and the numbers beside them."""
        kinds = [T.LongType(), T.LongType(), T.IntegerType(), T.IntegerType()]
        beside = [
            T.StructField(_name(side, name), kind) for name, kind in zip(OWN, kinds, strict=True)
        ]
        schema = T.StructType([*columns.fields, *beside])
        reading = Reading(arrow_schema(schema, uses_wide_types(self.session)), time, since)
        return packets.select("batch", "packet").mapInArrow(make_reader(reading), schema)

    def told(self, upto: int) -> DataFrame | None:
        """Return what is told of rows after they were archived, None where that is nothing."""
        if upto not in self._told:
            packets, count = self.packets(upto).where("side is null"), len(self.new_batches(upto))
            if _size(self.packets(upto)) > FEW_BYTES:  # else asking takes longer than it saves
                count = packets.agg(F.sum("rows")).collect()[0][0] or 0
            told = self._opened(packets, "told", T.StructType())
            told = told.select(*(_own("told", name) for name in OWN[:-1]))
            # If few, all tasks get what is told, and rows need not be moved to it.
            told = told.hint("broadcast") if count <= TOLD_ROWS else told
            self._told[upto] = told if count else None
        return self._told[upto]

    def time(self, side: str) -> Column:
        """Return the time of the rows of a side in microseconds."""
        return micros(*self._time(side))

    def _time(self, side: str) -> tuple[str, T.DataType]:
        """Return the column of the time of a side, and its type."""
        name = self.info.times[SIDES.index(side)]
        return f"{side}.{quote(name)}", self.info.kind(side, name)

    def watermark(self, batch: int) -> int:
        """Return the time in microseconds up to which no row comes any more after a micro-batch."""
        reached = self.told_watermark(batch)
        return reached + self.info.behind if reached else 0

    def told_watermark(self, batch: int) -> int:
        """Return Spark's watermark in a micro-batch, which Spark itself forgets after a while."""
        for kept in ("batch", "base"):
            said = self.folders.read_text(f"{kept}-{batch}/{WATERMARK}")
            if said is not None:
                return int(said.split()[0])
        return watermark_of(self.checkpoint, batch)

    def missed_upto(self, batch: int) -> Ends:
        """Return how many results were missed up to a micro-batch, as the query has estimated.

        The next one tells, and where there is none yet, the last ones.
        """
        for number in reversed([n for n in self.folders.numbers("batch-") if n <= batch + 1]):
            said = self.folders.read_text(f"batch-{number}/{WATERMARK}") or ""
            ends: Any = json.loads(said.partition(" ")[2] or "[null, null, null]")
            if None not in ends:
                return tuple(ends)
        return None, None, None

    @property
    def changes(self) -> T.StructType:
        """The type of the corrections."""
        return T.StructType([T.StructField(CHANGE, T.StringType()), *self.info.columns.fields])

    def written(self, upto: int) -> DataFrame | None:
        """Return the corrections of a step, None unless they are there."""
        name, more, read = f"upto={upto}", appended(upto), self.session.read
        if self.fixes.has(name):
            return read.schema(self.changes).parquet(self.fixes.path(name))
        if self.results.has(more):
            found = read.schema(self.info.columns).parquet(self.results.path(more))
            return found.select(F.lit("+").alias(CHANGE), "*")
        return None

    def live(self) -> DataFrame:
        """Return the results that are in their folder, with those that were appended."""
        if not any(name.startswith("batch=") for name, _ in self.results.names()):
            return empty(self.session, self.info.columns)
        found = self.session.read.schema(self.info.columns).parquet(self.results.root)
        return found.select(*(quote(name) for name in self.info.columns.names))


def empty(session: SparkSession, kind: T.StructType) -> DataFrame:
    """Return a frame without rows that takes no task."""
    none = F.lit(None)
    return session.range(0).select(*(none.cast(each.dataType).alias(each.name) for each in kind))


def appended(upto: int) -> str:
    """Return the name of the folder of results that a step has appended."""
    return f"batch={-1 - upto}"


def reconcile(
    session: SparkSession,
    archive: Path,
    *,
    left: DataFrame | None = None,
    right: DataFrame | None = None,
    until: datetime | str | None = None,
    append: bool = False,
) -> Reconciled:
    """Find what the live join has missed up to its last committed micro-batch, each result once.

    Parameters:
        archive: the folder that was `archive=`; with `archive="inputs"` that of the results.
        left: the left input as a batch frame, with `archive="inputs"` only. It may hold more than
            the live join has read.
        right: the right input, likewise.
        until: a time with its zone, as a datetime or as text ("2026-05-01T00:00Z"): only what was
            missed while the watermark had not passed it; with `archive="inputs"` only results up to
            this time. None: all that is committed.
        append: put the results that were missed among the others, in folders `batch=-1-N`. Only for
            inner and semi joins: those of the others correct rows that are there.

    Else corrections go to the folder `corrections` beside what is remembered: in the archive, or in
    `_archive` of the results. What is done is remembered: the next run goes on from there, also
    after one that was killed. The query may run meanwhile.
    """
    limit = None if until is None else _read_time(until)
    frames = None if left is None and right is None else (left, right)
    made, mine = [], Archive(session, archive)
    if append and mine.info.how not in (INNER, SEMI):
        raise BadInput(
            f"append=True is for inner and semi joins, and this is how={mine.info.how!r}, whose "
            "corrections also take results away; leave it out, and read them with settled()"
        )
    inputs = _check_inputs(mine.info, frames)
    goal = Step(mine.reached(limit), append)
    while step := mine.next_step(goal):
        now = Archive(session, archive)
        if now.done == mine.done:  # else another run has made it meanwhile
            try:
                _make(mine, step, inputs)
            except Exception:
                if Archive(session, archive).done < step.upto:
                    raise
        now = Archive(session, archive)
        made += [found for found in [now.written(step.upto)] if found is not None]
        mine = now
    _forget(mine.folders, mine.done)
    reached = mine.done if mine.info.inputs else mine.watermark(mine.done)
    when = START + reached * MICRO if reached > 0 else None
    none = empty(session, mine.changes)
    return Reconciled(mine.done, when, reduce(DataFrame.unionAll, made, none))


def _read_time(until: Any) -> int:
    """Return a time in microseconds since 1970."""
    try:
        at = datetime.fromisoformat(until) if isinstance(until, str) else until
        if at.tzinfo is None:
            raise ValueError
        return (at - START) // MICRO
    except (ValueError, TypeError, AttributeError):
        raise BadInput(
            f"until must be a time with its zone, such as '2026-05-01T00:00Z', got {until!r}"
        ) from None


def _check_inputs(info: Info, frames: Any) -> tuple[DataFrame, ...]:
    """Return the inputs with the columns of the streams, refusing others."""
    if not info.inputs:
        if frames is not None:
            raise BadInput(
                "left= and right= are for archive='inputs', and this join has an archive of its "
                "own; leave them out"
            )
        return ()
    found = []
    for side, frame in zip(SIDES, frames or (None, None), strict=True):
        if frame is None:
            raise BadInput(
                "with archive='inputs' what was missed is found from the inputs: pass both as "
                "batch frames, left= and right="
            )
        check_frame(frame, side)
        wanted: Any = info.type[side].dataType
        if frame.isStreaming:
            raise BadInput(f"the {side} frame must be a batch frame (spark.read), got a stream")
        has = {each.name: each.dataType.simpleString() for each in frame.schema}
        for each in wanted:
            if has.get(each.name) != each.dataType.simpleString():
                raise BadInput(
                    f"the {side} frame must have the columns of the stream: {each.name!r} of type "
                    f"{each.dataType.simpleString()}, got {has.get(each.name, 'none')}"
                )
        found.append(frame.select(*(quote(name) for name in wanted.names)))
    return tuple(found)


def _make(mine: Archive, step: Step, inputs: tuple[DataFrame, ...]) -> None:
    """Make a step: write what it finds, and then the mark that it is done.

    What is kept for the next one is written at the same time, and moved into place as the last.
    """
    upto, base = step.upto, f"base-{step.upto}"
    if not mine.info.inputs:
        mine.told(upto)  # which both parts ask
    with ThreadPoolExecutor(1) as pool:
        kept = pool.submit(inheritable_thread_target(mine.session)(_keep), mine, upto, base)
        before = added_upto(mine.folders, mine.done)
        count = before.results + _correct(mine, step, inputs)
        told = (None, None, None) if mine.info.inputs else mine.missed_upto(upto)
        mine.folders.claim(f"{ADDED_BY}{upto}", Added(count, told).encode())
        mine.folders.place_once(kept.result(), base)


def _forget(folders: Folders, done: int) -> None:
    """Remove what is older than a step that is done, also what slower runs have left of it."""
    old = []
    for name, _ in folders.names():
        prefix, _, number = name.partition("-")  # of a claim before the first step: -1
        of_a_step = f"{prefix}-" in ("batch-", "base-", "_claim-", ADDED_BY)
        if of_a_step and int(number) < done + (prefix == "batch"):
            old.append(name)
    with ThreadPoolExecutor(REMOVERS) as pool:
        list(pool.map(folders.remove, old))


def _correct(mine: Archive, step: Step, inputs: tuple[DataFrame, ...]) -> int:
    """Write what is to be added and taken away, if it is not there; return how much that is.

    What is taken away counts in anti joins only: in the others it comes with what is added.
    """
    upto, counted = step.upto, Observation()
    sign, has_written = "-" if mine.info.how == ANTI else "+", False
    if mine.written(upto) is None:
        from_inputs = mine.info.inputs
        found = _compared(mine, upto, inputs).persist() if from_inputs else _corrections(mine, upto)
        try:
            if from_inputs:
                _check_complete(mine.info, found)
            told = found.observe(counted, F.count_if(F.col(CHANGE) == sign).alias("count"))
            if step.append:
                has_written = mine.results.publish_once(told.drop(CHANGE), appended(upto))
            else:
                has_written = mine.fixes.publish_once(told, f"upto={upto}")
        finally:
            found.unpersist()
    if has_written:
        return int(counted.get["count"])
    written = mine.written(upto)
    assert written is not None
    return written.where(F.col(CHANGE) == sign).count()


def _keep(mine: Archive, upto: int, base: str) -> str:
    """Stage the rows of which more can be missed; return where they are."""
    low, high = mine.info.within
    age = (0 if mine.info.inputs else mine.watermark(upto)) - max(0, high) - max(0, -low) - SLACK
    if mine.info.inputs:
        rows = mine.kept()
    else:
        files = 1 + (_size(mine.packets(upto)) + _size(mine.kept())) // ROUND_BYTES
        both = (_stored(mine, mine.rows(upto, side, age), side) for side in SIDES)
        rows = reduce(DataFrame.unionAll, both).repartition(files)
    beside = {} if mine.info.inputs else {WATERMARK: str(mine.told_watermark(upto))}
    return mine.folders.stage(rows, base, beside, **COMPACT)


def _stored(mine: Archive, rows: DataFrame, side: str) -> DataFrame:
    """Return rows of a side as they are kept."""
    columns: list[Column] = []
    for name in mine.info.type.names:
        if name in SIDES:
            kind: Any = mine.info.type[name].dataType
            inner = F.struct(*(F.col(f"{side}.{quote(each)}") for each in kind.names))
            value = inner if name == side else F.lit(None).cast(kind)
        else:
            value = F.lit(SIDES.index(side)) if name == "side" else _own(side, name)
        columns.append(value.alias(name))
    return rows.select(*columns)


def _size(frame: DataFrame) -> int:
    """Return the bytes of the files that a frame is read from."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    return int(plan.stats().sizeInBytes())


def suit_size(mine: Archive, *inputs: DataFrame) -> None:
    """Let a session of our own shuffle in so many parts that each of them fits into memory."""
    size = sum(map(_size, inputs or (mine.packets(mine.reached()), mine.kept())))
    name = "spark.sql.shuffle.partitions"
    wanted = max(int(mine.session.conf.get(name) or 2), 1 + size // PART_BYTES)
    mine.session.conf.set(name, wanted)


def _corrections(mine: Archive, upto: int) -> DataFrame:
    """Return what is to be added and taken away, of which nothing was up to `done`."""
    how, done = mine.info.how, mine.done
    changes = []
    pairs = _missed(mine, upto)
    of_later = F.when(_own("left", "row") > _own("right", "row"), _own("left", "batch"))
    found = F.coalesce(of_later, _own("right", "batch"))  # the micro-batch of the later row
    if how not in (SEMI, ANTI):
        new = pairs if done < 0 else pairs.where(found > done)
        changes.append(_results(mine.info, new, "+", SIDES))
    for side, preserved in zip(SIDES, PRESERVED.get(how, (how == SEMI, False)), strict=True):
        if preserved:
            kind: Any = mine.info.type[side].dataType
            row = F.struct(*(F.col(f"{side}.{quote(name)}") for name in kind.names))
            lonely = pairs.where(_own(side, "alone").isNotNull()).groupBy(_own(side, "row"))
            when = F.greatest(F.min(found), F.first(_own(side, "alone")))
            rows = lonely.agg(when.alias("when"), F.first(row).alias(side))
            sign = "+" if how == SEMI else "-"
            rows = rows.where(F.col("when") > done)
            changes.append(_results(mine.info, rows, sign, (side,)))
    return reduce(DataFrame.unionAll, changes)


def _missed(mine: Archive, upto: int) -> DataFrame:
    """Return the pairs that the live join has missed, with the columns of both rows: see `rows`.

    Time is cut into cells of a few windows, so that a row meets those of one or two cells and not
    all of its key. One number stands for key and cell: Spark sorts by it alone, which is fast. Its
    last bits tell the cells of a left row apart, so that no two of them match the same right row.
    """
    info = mine.info
    low, high = info.within
    width = F.lit(CELL * max(1, high - low))
    left, right = (mine.rows(upto, side) for side in SIDES)
    times = [mine.time(side) for side in SIDES]
    cell, value = "_penstock_cell", "_penstock_value"  # of a left row, which is in several
    first, last = (F.floor((times[0] + end) / width) for end in (low, high))
    left = left.withColumn(cell, F.explode(F.sequence(first, last)))
    cells = [[F.col(cell)], [F.floor(times[1] / width)]]
    if info.near is not None:
        middle, partner = (cell_of(*_compared_value(info, side)) for side in SIDES)
        left = left.withColumn(value, F.explode(F.sequence(middle - 1, middle + 1)))
        for mine_only, more in zip(cells, (F.col(value), partner), strict=True):
            mine_only.append(more)
    wholes = []
    for side, keys, mine_only in zip(SIDES, info.keys, cells, strict=True):
        whole = F.xxhash64(*(F.col(f"{side}.{quote(key)}") for key in keys), *mine_only)
        for each, bits in zip(mine_only, CELL_BITS, strict=False):
            part = each.bitwiseAND(F.lit((1 << bits) - 1))
            whole = F.shiftleft(whole, bits).bitwiseOR(part)
        wholes.append(whole.alias(f"_penstock_{side}_whole"))
    left, right = (
        frame.select(f"{side}.*", whole).alias(side)
        for frame, side, whole in zip((left, right), SIDES, wholes, strict=True)
    )
    # Written so that Spark does not sort by these too.
    buckets = [F.shiftright(_own(side, "row"), PLACE_BITS) for side in SIDES]
    same = [buckets[0] - buckets[1] == 0]
    for one, other in zip(*info.keys, strict=True):
        same.append(F.col(f"left.{quote(one)}").between(*[F.col(f"right.{quote(other)}")] * 2))
    if info.near is not None:
        (here, kind, near), (there, *_) = (_compared_value(info, side) for side in SIDES)
        same.append(are_near(here, there, kind, near))
    missed = F.lit(False)
    for one, other in (SIDES, SIDES[::-1]):  # the one that came first has left before the other
        missed |= _own(one, "last") < _own(other, "row")
    same += [(times[1] - times[0]).between(low, high), missed]
    return left.join(right, [_own("left", "whole") == _own("right", "whole"), *same])


def _compared_value(info: Info, side: str) -> tuple[Column, T.DataType, int | float]:
    """Return what must be near in a band join: of a side, its type, and how near."""
    assert info.near is not None
    name, near = info.near[SIDES.index(side)], info.near[2]
    return F.col(f"{side}.{quote(str(name))}"), info.kind(side, str(name)), near


def _name(side: str, name: str) -> str:
    """Return how one of the numbers beside the columns of a side is called."""
    return f"_penstock_{side}_{name}"


def _own(side: str, name: str) -> Column:
    """Return one of the numbers beside the columns of a side."""
    return F.col(_name(side, name))


def _results(info: Info, rows: DataFrame, sign: str, sides: tuple[str, ...]) -> DataFrame:
    """Return results of pairs, or of rows of one side without a partner."""
    columns = [F.lit(sign).alias(CHANGE)]
    for stream, name, new in info.output:
        side = SIDES[stream]
        if side not in sides and name in info.shared:
            side = sides[0]
        none = F.lit(None).cast(info.kind(SIDES[stream], name))
        value = F.col(f"{side}.{quote(name)}") if side in sides else none
        columns.append(value.alias(new))
    return rows.select(columns)


def _compared(mine: Archive, upto: int, inputs: tuple[DataFrame, ...]) -> DataFrame:
    """Return how the join of the inputs differs from the results, between two watermarks.

    A result belongs to the time at which the watermark has surely made the live join give it out:
    that of its later row, or where rows without a partner count, when these have expired. Nothing
    of a time up to the watermark comes any more, so results of each time are compared once.
    """
    info, (low, high) = mine.info, mine.info.within
    widest = max(abs(low), abs(high))
    margin = 0 if info.how == INNER else widest + SLACK
    since = mine.done - margin - widest - 1 if mine.done >= 0 else None
    frames, names = [], []
    for side, frame in zip(SIDES, inputs, strict=True):
        kind: Any = info.type[side].dataType
        known = {name: f"{side}_{number}" for number, name in enumerate(kind.names)}
        time = info.times[SIDES.index(side)]
        frame = frame.where(~_from(quote(time), kind[time].dataType, upto + 1))
        if since is not None:  # Spark skips files and parts of them by that
            frame = frame.where(_from(quote(time), kind[time].dataType, since))
        frames.append(frame.toDF(*known.values()))
        names.append(known)
    on = {names[0][a]: names[1][b] for a, b in zip(*info.keys, strict=True)}
    span = (timedelta(microseconds=low), timedelta(microseconds=high))
    times = (names[0][info.times[0]], names[1][info.times[1]])
    near: Near | None = None
    if info.near is not None:
        columns = names[0][info.near[0]], names[1][info.near[1]]
        near = {columns: near_span(*_compared_value(info, SIDES[0])[1:])}
    exact = join(frames[0], frames[1], on, time=times, within=span, near=near, how=info.how)
    exact = exact.select(*_output(info, names))
    due = F.greatest(*_times(info), F.lit(None)) + margin  # of the times that are there
    is_new = due <= upto if mine.done < 0 else (due > mine.done) & (due <= upto)
    exact, found = exact.where(is_new), mine.live().where(is_new)
    added = exact.exceptAll(found).select(F.lit("+").alias(CHANGE), "*")
    return added.unionAll(found.exceptAll(exact).select(F.lit("-").alias(CHANGE), "*"))


def _check_complete(info: Info, found: DataFrame) -> None:
    """Refuse inputs that lack rows: a pair that the live join has found is among them."""
    wrong = found.where(F.col(CHANGE) == "-")
    if info.how == ANTI or (info.how not in (INNER, SEMI) and len(_times(info)) < 2):
        return  # what is taken away may always be a row without a partner
    if info.how not in (INNER, SEMI):
        for time in _times(info):
            wrong = wrong.where(time.isNotNull())
    if wrong.limit(1).count():
        raise BadInput(
            "the live join has found results that the inputs do not give: rows are missing in "
            "left= or right=, perhaps no longer kept; pass all rows since the window before the "
            "last reconcile"
        )


def _from(name: str, kind: T.DataType, micro: int) -> Column:
    """Return which times are not before some microsecond."""
    if isinstance(kind, T.TimestampNTZType):
        return micros(name, kind) >= micro
    return F.col(name) >= F.timestamp_micros(F.lit(micro))


def _output(info: Info, names: list[dict[str, str]]) -> Iterator[Column]:
    """Return where the columns of the results are in a join of frames that have other names."""
    for stream, name, new in info.output:
        value = F.col(names[stream][name])
        if name in info.shared and info.how not in (SEMI, ANTI):
            value = F.coalesce(value, F.col(names[1 - stream][name]))
        yield value.alias(new)


def _times(info: Info) -> list[Column]:
    """Return the times of the rows of a result, in microseconds."""
    known = list(enumerate(info.times))
    return [
        micros(quote(new), info.columns[new].dataType)
        for stream, name, new in info.output
        if (stream, name) in known
    ]


def settled(session: SparkSession, archive: Path) -> DataFrame:
    """Return the results as they stand: those of the live join with all corrections."""
    mine = Archive(session, archive)
    live = mine.live()
    steps = [mine.written(upto) for upto in mine.fixes.numbers("upto=")]
    if not steps:
        return live
    fixes = reduce(DataFrame.unionAll, [step for step in steps if step is not None])
    added, taken = (fixes.where(F.col(CHANGE) == sign).drop(CHANGE) for sign in "+-")
    both = live.unionAll(added)
    return both if mine.info.how in (INNER, SEMI) else both.exceptAll(taken)


def owed(session: SparkSession, archive: Path, told: Metrics | None = None) -> Owed:
    """Return how much an archive holds that is to be reconciled.

    `told`, the metrics of the query, say also about how many results the live join has missed.
    """
    mine = Archive(session, archive)
    upto = mine.reached()
    found = mine.packets(upto).agg(F.sum("rows"), F.min("oldest")).collect()
    rows, first = found[0][0] or 0, found[0][1]
    size = _size(mine.packets(upto)) if mine.new_batches(upto) else 0
    oldest = None if first is None else START + first * MICRO
    ends: Ends = None, None, None
    if told is not None:
        is_none = not mine.info.inputs and not rows
        ends = (
            (0.0, 0.0, 0.0)
            if is_none
            else added_upto(mine.folders, mine.done).owed(missed(asdict(told)))
        )
    return Owed(size, rows, oldest, *ends)
