"""What a join with an archive owes: exactly the results that it missed, each once.

The archive holds, in folders `batch-N`, the rows that left the memory early and those that they
would have met. Reconciling takes all that was committed up to some micro-batch, writes what is to
be added (`+`) and taken away (`-`) as `corrections/upto=N`, and then `base-N`: the rows of which
more can be missed. That is the mark that it is done; all older folders are removed. A run that was
stopped between the two goes on to the same N, and what it has written stays.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..engine.join import ALL, ANTI, INNER, PRESERVED, SEMI
from ..errors import BadInput
from .archive import Info, read_info
from .folders import COMPACT, Folders, last_commit, watermark_of
from .frames import Keys, quote
from .join import join
from .keyed import EPOCH
from .metrics import Metrics

CHANGE = "change"  # the column that says whether a row is added or taken away
SIDES = ("left", "right")
SLACK = 2_000  # microseconds: rows are held a millisecond longer than they can match
CORRECTIONS = "corrections"


@dataclass(frozen=True)
class Reconciled:
    """What a run of `reconcile` has done."""

    upto: int  # the last micro-batch of which everything is found now
    watermark: datetime | None  # results whose rows are all older than this are complete
    corrections: DataFrame  # of this run; the first column, `change`, is + or -


@dataclass(frozen=True)
class Owed:
    """How much is to be reconciled."""

    bytes: int  # of the archive
    rows: int
    oldest: datetime | None  # the time of the oldest of them
    pairs: float | None = None  # results missed since the query first started, estimated
    pairs_low: float | None = None
    pairs_high: float | None = None


class Archive:
    """An archive as it stands."""

    def __init__(self, session: SparkSession, path: str | os.PathLike[str]):
        self.session = session
        self.folders = Folders(session, os.fspath(path))
        self.info: Info = read_info(self.folders)
        self.checkpoint = Folders(session, self.info.checkpoint)
        self.fixes = Folders(session, self.folders.path(CORRECTIONS))
        self.bases = self.folders.numbers("base-")

    @property
    def done(self) -> int:
        """The last micro-batch that is reconciled, -1 before the first."""
        return self.bases[-1] if self.bases else -1

    def upto(self) -> int:
        """Return the micro-batch up to which to go: the last one that will not be repeated."""
        begun = self.fixes.numbers("upto=")
        if begun and begun[-1] > self.done:
            return begun[-1]
        committed = last_commit(self.checkpoint)
        return self.done if committed is None else max(self.done, committed)

    def folder_names(self, upto: int) -> list[str]:
        """Return the names of the folders that hold rows which may be owed."""
        new = [n for n in self.folders.numbers("batch-") if self.done < n <= upto]
        return [f"base-{n}" for n in self.bases[-1:]] + [f"batch-{n}" for n in new]

    def records(self, upto: int) -> DataFrame:
        """Return all records up to a micro-batch."""
        paths = [self.folders.path(name) for name in self.folder_names(upto)]
        if not paths:
            return self.session.createDataFrame([], self.info.type)
        return self.session.read.schema(self.info.type).parquet(*paths)

    def rows(self, upto: int) -> DataFrame:
        """Return one record per row, with all that is known of it."""
        records = self.records(upto)
        has_columns = F.col("left").isNotNull() | F.col("right").isNotNull()
        later = records.where(~has_columns).select(
            "bucket", "place", F.col("last").alias("last_"), F.col("alone").alias("alone_")
        )
        rows = records.where(has_columns).join(later, ["bucket", "place"], "left")
        told = {name: F.coalesce(f"{name}_", name) for name in ("last", "alone")}
        return rows.withColumns(told).drop("last_", "alone_").select(self.info.type.names)

    def time(self, side: str) -> Column:
        """Return the time of the rows of a side in microseconds."""
        name = self.info.times[SIDES.index(side)]
        kind = self.info.type[side].dataType[name].dataType  # type: ignore[index]
        if isinstance(kind, T.TimestampNTZType):
            return F.expr(f"timestampdiff(MICROSECOND, {EPOCH}, {side}.{quote(name)})")
        return F.unix_micros(F.col(f"{side}.{quote(name)}"))

    def watermark(self, upto: int) -> int:
        """Return the time in microseconds up to which no row comes any more after a micro-batch."""
        reached = watermark_of(self.checkpoint, upto)
        return reached + self.info.behind if reached else 0


def reconcile(session: SparkSession, archive: str | os.PathLike[str]) -> Reconciled:
    """Find what the live join has missed up to its last committed micro-batch, each result once.

    Corrections go to the folder `corrections` of the archive, and what is done is remembered: the
    next run goes on from there. The query may run meanwhile.
    """
    mine = Archive(session, archive)
    upto, name = mine.upto(), f"upto={mine.upto()}"
    if upto > mine.done:
        if upto not in mine.fixes.numbers("upto="):
            mine.fixes.publish(_corrections(mine, upto), name)
        _settle(mine, upto)
    reached = mine.watermark(upto)
    written = upto in mine.fixes.numbers("upto=")
    made = session.read.parquet(mine.fixes.path(name)) if written else _corrections(mine, upto)
    when = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=reached) if reached else None
    return Reconciled(upto, when, made)


def _settle(mine: Archive, upto: int) -> None:
    """Keep the rows of which more can be missed, and drop everything else up to a micro-batch."""
    low, high = mine.info.within
    age = mine.watermark(upto) - max(0, high) - max(0, -low) - SLACK
    time = F.coalesce(mine.time("left"), mine.time("right"))
    old = mine.folder_names(upto)
    mine.folders.publish(mine.rows(upto).where(time >= age).coalesce(1), f"base-{upto}", **COMPACT)
    for name in old:
        mine.folders.remove(name)


def _corrections(mine: Archive, upto: int) -> DataFrame:
    """Return what is to be added and taken away, of which nothing was up to `done`."""
    how, done = mine.info.how, mine.done
    changes = []
    pairs = _missed(mine, upto)
    if how not in (SEMI, ANTI):
        new = pairs.where(F.col("found") > done)
        changes.append(_results(mine.info, new, "+", SIDES))
    for side, preserved in zip(SIDES, PRESERVED.get(how, (how == SEMI, False)), strict=True):
        if preserved:
            mine_only = [f"{side}_bucket", f"{side}_place"]
            lonely = pairs.where(F.col(f"{side}_alone").isNotNull()).groupBy(mine_only)
            when = F.greatest(F.min("found"), F.first(f"{side}_alone"))
            rows = lonely.agg(when.alias("when"), F.first(side).alias(side))
            sign = "+" if how == SEMI else "-"
            rows = rows.where(F.col("when") > done)
            changes.append(_results(mine.info, rows, sign, (side,)))
    found = changes[0]
    for more in changes[1:]:
        found = found.unionByName(more)
    return found


def _missed(mine: Archive, upto: int) -> DataFrame:
    """Return the pairs that the live join has missed, and in which micro-batch (`found`).

    Time is cut into cells as long as the window is wide, so that a row meets those of two cells
    and not all of its key.
    """
    info, rows = mine.info, mine.rows(upto)
    low, high = info.within
    cell = max(1, high - low)
    left, right = (_side(mine, rows, side) for side in SIDES)
    first = F.floor((F.col("left_time") + low) / cell)
    left = left.withColumn("left_cell", F.explode(F.array(first, first + 1)))
    right = right.withColumn("right_cell", F.floor(F.col("right_time") / cell))
    same = [F.col(f"left_{each}") == F.col(f"right_{each}") for each in ("bucket", "cell")]
    same += [
        F.col(f"left.{quote(one)}") == F.col(f"right.{quote(other)}")
        for one, other in zip(*info.keys, strict=True)
    ]
    apart = F.col("right_time") - F.col("left_time")
    missed = F.lit(False)
    for one, other in (SIDES, SIDES[::-1]):  # the one that came first has left before the other
        missed |= F.col(f"{one}_last") < F.col(f"{other}_place")
    pairs = left.join(right, [*same, apart.between(low, high), missed])
    of_later = F.when(F.col("left_place") > F.col("right_place"), F.col("left_batch"))
    return pairs.withColumn("found", F.coalesce(of_later, F.col("right_batch")))


def _side(mine: Archive, rows: DataFrame, side: str) -> DataFrame:
    names = ("batch", "bucket", "place", "last", "alone")
    columns = [F.col(name).alias(f"{side}_{name}") for name in names]
    mine_only = rows.where(F.col(side).isNotNull())
    return mine_only.select(side, *columns, mine.time(side).alias(f"{side}_time"))


def _results(info: Info, rows: DataFrame, sign: str, sides: tuple[str, ...]) -> DataFrame:
    """Return results of pairs, or of rows of one side without a partner."""
    columns = [F.lit(sign).alias(CHANGE)]
    for stream, name, new in info.output:
        side = SIDES[stream]
        if side not in sides and name in info.shared:
            side = sides[0]
        kind = info.type[SIDES[stream]].dataType[name].dataType  # type: ignore[index]
        value = F.col(f"{side}.{quote(name)}") if side in sides else F.lit(None).cast(kind)
        columns.append(value.alias(new))
    return rows.select(columns)


def settled(session: SparkSession, archive: str | os.PathLike[str]) -> DataFrame:
    """Return the results as they stand: those of the live join with all corrections."""
    mine = Archive(session, archive)
    live = session.read.parquet(mine.info.results).drop("batch")
    if not mine.fixes.numbers("upto="):
        return live
    fixes = session.read.parquet(mine.fixes.root).select(CHANGE, *live.columns)
    added, taken = (fixes.where(F.col(CHANGE) == sign).drop(CHANGE) for sign in "+-")
    both = live.unionAll(added)
    return both if mine.info.how in (INNER, SEMI) else both.exceptAll(taken)


def owed(
    session: SparkSession, archive: str | os.PathLike[str], told: Metrics | None = None
) -> Owed:
    """Return how much an archive holds that is to be reconciled.

    `told`, the metrics of the query, say also about how many results the live join has missed.
    """
    mine = Archive(session, archive)
    upto = mine.upto()
    new = mine.records(upto).where(F.col("batch") > mine.done)
    time = F.min(F.coalesce(mine.time("left"), mine.time("right")))
    rows, oldest = new.agg(F.count("*"), F.timestamp_micros(time)).collect()[0]
    size = sum(map(mine.folders.size, mine.folder_names(upto)))
    oldest = None if oldest is None else oldest.astimezone(UTC)
    return Owed(size, rows, oldest, *_missing(told))


def _missing(told: Metrics | None) -> tuple[float | None, float | None, float | None]:
    """Return how many results are missing, and the interval of that, from the recall."""
    if told is None:
        return None, None, None
    found = told.matches
    low, mid, high = (
        None if recall is None or not recall else found / recall - found
        for recall in (told.recall_high, told.recall, told.recall_low)
    )
    return mid, low, high


def reconcile_inputs(
    left: DataFrame, right: DataFrame, results: DataFrame, on: Keys, **options: Any
) -> DataFrame:
    """Return what a live join has missed, from its inputs as batch frames and its results.

    The inputs are joined anew without a budget and compared with the results as multisets: `+` is
    a result to add, `-` one to take away. The options are those of `join`; nothing is remembered.
    """
    if options.get("match", ALL) != ALL:
        raise BadInput(
            f"reconcile_inputs needs match='all', got {options['match']!r}: which partner is the "
            "first depends on what has left before"
        )
    exact = join(left, right, on, **options)
    found = results.select(exact.columns)
    added = exact.exceptAll(found).select(F.lit("+").alias(CHANGE), "*")
    return added.unionAll(found.exceptAll(exact).select(F.lit("-").alias(CHANGE), "*"))
