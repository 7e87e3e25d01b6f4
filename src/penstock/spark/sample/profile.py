"""The profile of a frame: the same record as `profile.stream_profile` makes of arrays.

Of a batch frame keys are counted, and the rest comes from samples. Of a streaming frame a query
keeps samples. Every micro-batch is read as a batch frame is, and taken into a sketch of bounded
size. The sketch is written with the number of the batch, into two slots in turn: if the query fails
on the way, the slot of the batch before is whole, and Spark gives the same batch again. A batch
whose number is already there is not taken in twice.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from ...errors import BadInput, BadState
from ...kernel.options import at_least
from ...profile.popularity import fit_zipf
from ...profile.sampled_profile import CountedKeys, describe
from ...profile.sketch import Sketch, Survey
from ...profile.stream_profile import Profile
from ..checks import whole
from ..frames import as_names
from ..session import check_workers
from .keyed import CALENDAR, KEY, MICRO, collected, keyed_rows, spread_out, surveyed

ROWS, STREAM_ROWS = 1_000_000, 250_000  # in a sample
FEWEST = 10_000  # rows: with fewer the errors would be larger than what they are errors of
BINS = 1 << 21  # of time, of a batch frame
KEYS = 4  # of a stream one key is sampled for so many rows
COLLECTED = 500_000  # rows of a micro-batch that are sorted on the driver
SAMPLED = 1_000_000  # rows, at most about, that are sampled from one micro-batch
SCHEMA = "batch long, about string, sketch binary"


@dataclass(frozen=True)
class ProfileStream:
    """A running query, and its profile so far.

    `query` is Spark's own: `query.stop()`, `query.awaitTermination()`, `query.lastProgress`.
    """

    query: StreamingQuery
    spark: SparkSession  # the session in which the profile is made
    checkpoint: str
    name: str = "stream"
    h: int | None = None

    def report(self, h: int | None = None) -> Profile:
        """Return the profile of all that came so far; after the query has stopped too."""
        error = self.query.exception()
        if error is not None:
            raise error
        return saved_profile(self.spark, self.checkpoint, h=h or self.h, name=self.name)


def profile(
    frame: DataFrame,
    key: str | list[str],
    time: str,
    *,
    h: int | None = None,
    seed: int = 0,
    name: str = "stream",
    rows: int | None = None,
    checkpoint: str | None = None,
    trigger: Mapping[str, str | bool] | None = None,
) -> Profile | ProfileStream:
    """Return what a stream of keys is like; of a streaming frame, a query that finds out.

    Parameters:
        frame: a batch frame or a streaming one.
        key: a column or several, of any type that can be grouped by but maps, variants and texts
            with a collation. Rows where one of them or the time is null are left out, and counted.
        time: timestamps, dates or numbers. Rows are taken in its order; of a streaming frame batch
            by batch, so that a row that comes late has its place where it came.
        h: how many rows the locality model looks back on; None: as many as suffice.
        seed: decides which keys are sampled.
        name: what the profile is called in its report.
        rows: how many rows a sample holds; a frame that has no more is profiled as a whole. The
            errors fall as its square root. By default 1,000,000, and 250,000 of a streaming frame.
        checkpoint: of a streaming frame: a folder for the query's checkpoint and the samples. A
            query that is started again with the same folder goes on where it was.
        trigger: of a streaming frame: arguments for Spark's `trigger`, such as
            {"availableNow": True}.

    A batch frame is read four times; if it is expensive to make, or random, store it first.
    """
    numbers = keyed_rows(frame, key, time)
    if h is not None:
        at_least("h", h, 1)
    per_second = MICRO if isinstance(frame.schema[time].dataType, CALENDAR) else None
    default = STREAM_ROWS if frame.isStreaming else ROWS
    size = default if rows is None else rows
    at_least("rows", size, FEWEST)
    whole(seed, "seed", 0)
    check_workers(frame.sparkSession)
    if frame.isStreaming:
        about = {"key": list(as_names(key, "key")), "time": time, "rows": size, "seed": seed}
        about["per_second"] = per_second
        query, folder = _start(numbers, about, checkpoint, trigger or {})
        return ProfileStream(query, frame.sparkSession, folder, name, h)
    if checkpoint is not None or trigger is not None:
        raise BadInput("checkpoint and trigger are for streaming frames, got a batch frame")
    return _profile_batch(numbers, size, seed, {"h": h, "name": name, "per_second": per_second})


def saved_profile(
    spark: SparkSession, checkpoint: str, *, h: int | None = None, name: str = "stream"
) -> Profile:
    """Return the profile so far by a query that may run elsewhere, or run no more.

    Parameters:
        spark: the session to read with.
        checkpoint: the folder that `profile` was given.
        h: how many rows the locality model looks back on; None: as many as suffice.
        name: what the profile is called in its report.
    """
    held = _load(spark, checkpoint)
    if held is None or not held[2].seen:
        raise BadInput(
            f"no row with a key and a time has come to the profile in {checkpoint!r} yet; wait for"
            " the query's first batch"
        )
    return describe(held[2], h=h, name=name, per_second=held[1].get("per_second"))


def _take_in(rows: DataFrame, found: Survey, sketch: Sketch, sampled: int, few: int) -> None:
    """Take about so many `sampled` rows into a sketch; up to a `few` rows are sorted here."""
    plan = sketch.plan(found, sampled)
    if found.rows <= few:
        sketch.push(collected(rows, plan, sketch.seen))
    else:
        sketch.push(spread_out(rows, found, plan))


# ---------------------------------------------------------------- batch frames


def _profile_batch(numbers: DataFrame, size: int, seed: int, more: dict[str, Any]) -> Profile:
    """Return the profile of a batch frame; `size` is how many rows a sample holds."""
    found = surveyed(numbers)
    if not found.rows:
        raise BadInput(
            "the frame must hold at least one row with a key and a time,"
            f" got {found.skipped or 'no'} rows{' that lack one' if found.skipped else ''};"
            " choose other columns or another frame"
        )
    sketch = Sketch(size, 4 * size, seed, bins=BINS, counting=False)
    sketch.expect(found)
    if found.rows <= size:
        _take_in(numbers, found, sketch, size, size)
        return describe(sketch, **more)
    counts = numbers.where(F.col(KEY).isNotNull()).groupBy(KEY).count().persist()
    try:
        counted = _counted(counts)
        _take_in(numbers, found, sketch, size, size)
        return describe(sketch, **more, counted=counted)
    finally:
        counts.unpersist()


def _counted(counts: DataFrame) -> CountedKeys:
    """Return the popularity of all keys."""
    table = counts.groupBy("count").agg(F.count(F.lit(1)).alias("alike")).toArrow()
    table = table.sort_by([("count", "descending")])

    def often(key: np.ndarray, in_runs: np.ndarray) -> np.ndarray:
        wanted = counts.sparkSession.createDataFrame(pa.table({KEY: key}))
        found = counts.join(F.broadcast(wanted), KEY).toArrow().sort_by(KEY)
        if found.num_rows != len(key):
            raise BadInput(
                "the frame must hold the same rows each time it is read, and did not;"
                " store it first, or persist it"
            )
        return found["count"].to_numpy().astype(np.float64)

    return CountedKeys(fit_zipf(table["count"].to_numpy(), table["alike"].to_numpy()), often)


# ---------------------------------------------------------------- streaming frames


def _start(
    numbers: DataFrame, about: dict[str, Any], checkpoint: str | None, trigger: Mapping[str, Any]
) -> tuple[Any, str]:
    """Start the query, and return it with its folder; saved sketches must agree on `about`."""
    if checkpoint is None:
        raise BadInput(
            "the profile of a streaming frame needs a folder for the profile so far; pass"
            " checkpoint="
        )
    folder = str(checkpoint).rstrip("/")
    writer = numbers.writeStream.foreachBatch(_Accumulator(about, folder))
    writer = writer.option("checkpointLocation", f"{folder}/query")
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.start(), folder


class _Accumulator:
    """Takes micro-batches into a sketch; it travels to the server where there is one."""

    def __init__(self, about: dict[str, Any], folder: str) -> None:
        self.about = about
        self.folder = folder
        self.held: tuple[int, Sketch] | None = None  # the last batch, and the sketch with it

    def __call__(self, batch: DataFrame, number: int) -> None:
        last, sketch = self.held or self._find(batch.sparkSession, number)
        if number <= last:
            return  # it was taken in before the query ended
        self.held = None  # whatever fails below, the sketch on disk is the one to go on with
        rows = batch.persist()  # a source may not give the same rows in the same order twice
        try:
            found = surveyed(rows)
            if found.rows:
                _take_in(rows, found, sketch, SAMPLED, COLLECTED)
            else:
                sketch.skipped += found.skipped
        finally:
            rows.unpersist()
        self._save(batch.sparkSession, number, sketch)
        self.held = number, sketch

    def _find(self, spark: Any, number: int) -> tuple[int, Sketch]:
        size = self.about["rows"]
        fresh = -1, self.about, Sketch(size, size // KEYS, self.about["seed"])
        last, about, sketch = _load(spark, self.folder) or fresh
        if about != self.about:
            raise BadState(
                f"the profile in {self.folder!r} was made with {about}, got {self.about};"
                " choose another checkpoint folder"
            )
        if number > last + 1:
            raise BadState(
                f"the profile in {self.folder!r} ends with batch {last}, but batch {number}"
                " comes next; its files were removed: choose another checkpoint folder"
            )
        return last, sketch

    def _save(self, spark: Any, number: int, sketch: Sketch) -> None:
        """Write the sketch into the slot that does not hold the one before, in any storage."""
        row = (number, json.dumps(self.about), bytearray(sketch.save()))
        frame = spark.createDataFrame([row], SCHEMA).coalesce(1)
        frame.write.mode("overwrite").parquet(_slot(self.folder, number % 2))


def _load(spark: Any, folder: str) -> tuple[int, dict[str, Any], Sketch] | None:
    """Return the latest batch, what it is about, and its sketch; None if there is none."""
    rows, failed = [], None
    for slot in range(2):
        try:
            rows += spark.read.schema(SCHEMA).parquet(_slot(folder, slot)).collect()
        except AnalysisException:  # it was never written
            continue
        except Exception as error:  # it is being overwritten; then the other one is whole
            failed = error
    if not rows and failed is not None:
        raise failed
    if not rows:
        return None
    last = max(rows, key=lambda row: row.batch)
    return last.batch, json.loads(last.about), Sketch.restore(bytes(last.sketch))


def _slot(folder: str, number: int) -> str:
    return f"{folder}/profile/{number}"
