"""The profile of a streaming frame: a query that keeps samples of it, and the profile so far.

Every micro-batch is read as a batch frame is, and taken into a sketch of bounded size. The sketch
is written with the number of the batch, into two slots in turn: if the query dies on the way, the
slot of the batch before is whole, and Spark gives the same batch again. A batch whose number is
already there is not taken in twice.
"""

import json
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from ..errors import BadInput, BadState
from ..profile.sampled_profile import describe
from ..profile.sketch import Sketch
from ..profile.stream_profile import Profile
from .ordered import collected, spread_out, surveyed

KEYS = 4  # one key is sampled for so many rows
COLLECTED = 500_000  # rows of a micro-batch that are sorted on the driver
SAMPLED = 1_000_000  # rows, at most about, that are sampled from one micro-batch
SCHEMA = "batch long, about string, sketch binary"


def describe_saved(spark: Any, checkpoint: str, h: int | None, name: str) -> Profile:
    """Return the profile by what a query has written so far."""
    held = _load(spark, checkpoint)
    if held is None or not held.sketch.seen:
        raise BadInput(
            f"no row with a key and a time has come to the profile in {checkpoint!r} yet; wait for"
            " the query's first batch"
        )
    return describe(held.sketch, h=h, name=name)


def start(
    numbers: DataFrame, about: dict[str, Any], checkpoint: str | None, trigger: dict[str, Any]
) -> tuple[Any, str]:
    """Start the query, and return it with its folder; saved sketches must agree on `about`."""
    if checkpoint is None:
        raise BadInput(
            "the profile of a streaming frame needs a folder for what it knows so far; pass"
            " checkpoint="
        )
    folder = str(checkpoint).rstrip("/")
    writer = numbers.writeStream.foreachBatch(_Accumulator(about, folder))
    writer = writer.option("checkpointLocation", f"{folder}/query")
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.start(), folder


@dataclass
class _Held:
    batch: int
    about: dict[str, Any]
    sketch: Sketch


class _Accumulator:
    """Takes micro-batches into a sketch; it travels to the server where there is one."""

    def __init__(self, about: dict[str, Any], folder: str) -> None:
        self.about = about
        self.folder = folder
        self.held: _Held | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        held = self.held or self._find(batch.sparkSession, number)
        if number <= held.batch:
            return  # it was taken in before the query died
        self.held = None  # whatever fails below, the sketch on disk is the one to go on with
        rows = batch.persist()  # a source may not give the same rows in the same order twice
        try:
            self._take_in(rows, held.sketch)
        finally:
            rows.unpersist()
        held.batch = number
        _save(batch.sparkSession, self.folder, held)
        self.held = held

    def _find(self, spark: Any, number: int) -> _Held:
        held = _load(spark, self.folder)
        if held is None:
            size = self.about["rows"]
            held = _Held(-1, self.about, Sketch(size, size // KEYS, self.about["seed"]))
        if held.about != self.about:
            raise BadState(
                f"the profile in {self.folder!r} was made with {held.about}, got {self.about};"
                " choose another checkpoint folder"
            )
        if number > held.batch + 1:
            raise BadState(
                f"the profile in {self.folder!r} ends with batch {held.batch}, but batch {number}"
                " comes next; its files were removed: choose another checkpoint folder"
            )
        return held

    def _take_in(self, rows: DataFrame, sketch: Sketch) -> None:
        found = surveyed(rows)
        if not found.rows:
            sketch.skipped += found.skipped
            return
        plan = sketch.plan(found, SAMPLED)
        if found.rows <= COLLECTED:
            sketch.push(collected(rows, plan, sketch.seen))
        else:
            sketch.push(spread_out(rows, found, plan))


def _save(spark: Any, folder: str, held: _Held) -> None:
    """Write the sketch into the slot that does not hold the one before; any storage of Spark's."""
    row = (held.batch, json.dumps(held.about), bytearray(held.sketch.save()))
    frame = spark.createDataFrame([row], SCHEMA).coalesce(1)
    frame.write.mode("overwrite").parquet(_slot(folder, held.batch % 2))


def _load(spark: Any, folder: str) -> _Held | None:
    """Return the latest sketch; None if there is none."""
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
    return _Held(last.batch, json.loads(last.about), Sketch.restore(bytes(last.sketch)))


def _slot(folder: str, number: int) -> str:
    return f"{folder}/profile/{number}"
