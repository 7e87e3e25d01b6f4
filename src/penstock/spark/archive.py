"""Write the results of a join and its archive, both exactly once.

    joined = penstock.spark.join(a, b, "k", ..., budget="64 MB", archive="/archive")
    query = penstock.spark.write(joined, results="/results", checkpoint="/checkpoint")

A micro-batch becomes one folder of results, `batch=N`, and one of the archive, `batch-N`. Both are
written aside and moved into place as a whole, and a micro-batch that Spark repeats replaces what
its earlier attempt has left. Only micro-batches that Spark has committed are reconciled.
"""

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from ..errors import BadInput, BadState
from .folders import COMPACT, Folders
from .frames import Output, shared_keys
from .plan import JoinPlan
from .runtime.archiver import ARCHIVE
from .runtime.packets import unpack_as
from .session import uses_wide_types

HELD_BY = "_penstock_archived"  # the attribute of a joined frame that `write` looks for
INFO = "_join.json"
FILE_BYTES = 128 << 20  # of packets, for one file


@dataclass(frozen=True)
class Info:
    """What an archive says of the join that it belongs to."""

    how: str
    within: tuple[int, int]  # of right time minus left time, in microseconds
    keys: tuple[tuple[str, ...], ...]
    times: tuple[str, ...]
    output: Output
    shared: tuple[str, ...]  # key columns of one name in both frames
    behind: int
    records: str  # the type of the archive's rows, as JSON
    results: str
    checkpoint: str

    @property
    def type(self) -> T.StructType:
        """The type of the archive's rows."""
        return T.StructType.fromJson(json.loads(self.records))

    def encode(self) -> str:
        """Return this as text."""
        return json.dumps(asdict(self))


def read_info(archive: Folders) -> Info:
    """Return what an archive says of its join."""
    text = archive.read_text(INFO)
    if text is None:
        raise BadInput(
            f"there is no archive in {archive.root}; pass the path that join(archive=) got, after "
            "penstock.spark.write has started its query"
        )
    said = json.loads(text)
    for name in ("within", "keys", "times", "output", "shared"):
        said[name] = tuple(tuple(x) if isinstance(x, list) else x for x in said[name])
    return Info(**said)


@dataclass(frozen=True)
class Archived:
    """A join whose results and archive leave it in the same packets."""

    packets: DataFrame
    plan: JoinPlan
    inputs: tuple[T.StructType, ...]
    results: T.StructType
    path: str


def hold_back(joined: Archived) -> DataFrame:
    """Return results that can be looked at and are read by `write` only.

    A query that writes them in another way fails: it would lose the archive.
    """

    def refuse(batches: Any) -> Any:
        raise BadInput(
            "a join with archive= is written with penstock.spark.write(joined, results=..., "
            "checkpoint=...), which writes the archive too; writeStream would lose it"
        )
        yield from batches

    frame = joined.packets.mapInArrow(refuse, joined.results)
    setattr(frame, HELD_BY, joined)
    return frame


def records_type(inputs: tuple[T.StructType, ...], stored: bool = False) -> T.StructType:
    """Return the type of an archive's rows: in packets (see `runtime.archiver`), or as `stored`.

    What is stored has the number of its micro-batch, and that in which a row left alone.
    """
    number, flag, long = T.IntegerType(), T.BooleanType(), T.LongType()
    fields: list[tuple[str, T.DataType]] = [("batch", number)] if stored else []
    fields += [("bucket", number), ("place", long), ("last", long)]
    fields += [("alone", number if stored else flag), ("left", inputs[0]), ("right", inputs[1])]
    return T.StructType([T.StructField(name, kind) for name, kind in fields]).toNullable()


@dataclass(frozen=True)
class Sink:
    """What becomes of one micro-batch."""

    archive: str
    results: str
    records: T.StructType
    columns: T.StructType
    wide: bool

    def __call__(self, packets: DataFrame, number: int) -> None:
        """Write a micro-batch, or write it again."""
        session = packets.sparkSession
        results, archive = Folders(session, self.results), Folders(session, self.archive)
        packets = packets.persist()  # the join itself must run once
        try:
            found = packets.where(f"join <> {ARCHIVE}")
            results.publish(self._unpacked(found, self.columns), f"batch={number}")
            owed = packets.where(f"join = {ARCHIVE}")
            size = owed.agg(F.sum(F.length("packet"))).collect()[0][0]
            if size:
                rows = self._unpacked(owed.coalesce(1 + size // FILE_BYTES), self.records)
                rows = rows.withColumn("batch", F.lit(number))
                rows = rows.withColumn("alone", F.when(F.col("alone"), F.lit(number)))
                archive.publish(rows, f"batch-{number}", **COMPACT)
            else:
                archive.remove(f"batch-{number}")  # of an attempt that evicted more
        finally:
            packets.unpersist()

    def _unpacked(self, packets: DataFrame, schema: T.StructType) -> DataFrame:
        arrow = to_arrow_schema(schema, timezone="UTC", prefers_large_types=self.wide)
        return packets.mapInArrow(unpack_as(arrow), schema)


def write(
    joined: DataFrame,
    *,
    results: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str],
    name: str | None = None,
    **trigger: Any,
) -> Any:
    """Start a query that writes results and archive of a join, both exactly once.

    Parameters:
        joined: what `join(..., archive=)` returned, as it is.
        results: the folder of the results: Parquet, partitioned by the micro-batch (`batch`).
        checkpoint: the folder of the query's checkpoint.
        name: of the query.
        trigger: as DataStreamWriter.trigger takes it: `processingTime="10 seconds"`.

    The file systems must be able to move a folder in one step, as local ones, HDFS and ABFS are.
    """
    archived = getattr(joined, HELD_BY, None)
    if archived is None:
        raise BadInput(
            "write takes what join(..., archive=) returned, as it is; change the frames before the "
            "join, or the results after they are written"
        )
    session, plan = joined.sparkSession, archived.plan
    archive = Folders(session, archived.path)
    high, low = plan.reach[0], -plan.reach[1]
    info = Info(
        plan.how,
        (low, high),
        tuple(source.keys for source in plan.inputs),
        tuple(str(source.time) for source in plan.inputs),
        plan.output[0],
        tuple(sorted(shared_keys(*plan.inputs))),
        plan.behind,
        records_type(archived.inputs, stored=True).json(),
        Folders(session, os.fspath(results)).root,
        Folders(session, os.fspath(checkpoint)).root,
    )
    if archive.read_text(INFO) is None:
        archive.write_text(INFO, info.encode())
    elif read_info(archive) != info:
        raise BadState(
            f"the archive in {archive.root} belongs to another join, or to one with other results "
            "or another checkpoint; pass the same ones, or another archive="
        )
    wide = uses_wide_types(session)
    records = records_type(archived.inputs)
    sink = Sink(archive.root, info.results, records, archived.results, wide)
    query = archived.packets.writeStream.foreachBatch(sink)
    query = query.option("checkpointLocation", info.checkpoint).outputMode("append")
    query = query.queryName(name) if name else query
    return (query.trigger(**trigger) if trigger else query).start()
