"""Streams made of small files, one file a micro-batch, and what comes out of queries over them."""

import math
import os
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as T

from penstock.spark.frames import arrow_schema

START = datetime(2024, 3, 1, tzinfo=UTC)
DELAY = 10  # seconds
WITHIN = 20


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Files:
    """The files of one stream: `add` writes the next one."""

    def __init__(self, folder: Path, schema: str):
        self.folder = folder
        self.schema = T._parse_datatype_string(schema) if isinstance(schema, str) else schema
        folder.mkdir(parents=True)
        self.count = 0

    def add(self, rows: list[tuple]) -> None:
        kinds = arrow_schema(self.schema)
        columns = [[row[i] for row in rows] for i in range(len(kinds))]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, kinds, strict=True)]
        path = self.folder / f"{self.count:05}.parquet"
        pq.write_table(pa.Table.from_arrays(arrays, schema=kinds), path)
        # Spark takes files in the order of their times, which must not be equal.
        when = 1_700_000_000 + self.count
        os.utime(path, (when, when))
        self.count += 1

    def stream(self, spark):
        reader = spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder))

    def batch(self, spark):
        return spark.read.schema(self.schema).parquet(str(self.folder))


def run(frame, folder: Path, name: str = "out"):
    """Run a query over all that is there; a second run goes on from the checkpoint."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def results(spark, folder: Path, name: str = "out") -> Counter:
    return bag(spark.read.parquet(str(folder / name)))


def committed(folder: Path, name: str = "out") -> int:
    """Return how many micro-batches a sink of files has committed.

    Files alone tell nothing: a task that was aborted may leave one behind.
    """
    log = folder / name / "_spark_metadata"
    return len([path for path in log.glob("*") if path.name.partition(".")[0].isdigit()])


def bag(frame) -> Counter:
    """Return the rows of a frame as a multiset."""
    return Counter(repr(plain(tuple(row))) for row in frame.collect())


def plain(value):
    """Return a value in a form whose text is equal where Spark calls the values equal."""
    if isinstance(value, dict):
        return ("map", sorted((repr(plain(k)), plain(v)) for k, v in value.items()))
    if isinstance(value, tuple | list):
        return tuple(plain(v) for v in value)
    if isinstance(value, bytearray | bytes):
        return bytes(value)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def arrivals(rng: random.Random, count: int, span: float, delay: float = DELAY):
    """Draw (side, time) in an order of arrival in which no row is later than the delay."""
    drawn = sorted(
        (time + rng.uniform(0, delay), rng.randrange(2), time)
        for time in (round(rng.uniform(0, span), 3) for _ in range(count))
    )
    return [(side, time) for _, side, time in drawn]


def cut(rng: random.Random, rows: list, parts: int) -> list[list]:
    """Cut rows into parts, some of them perhaps empty."""
    marks = sorted(rng.randrange(len(rows) + 1) for _ in range(parts - 1))
    return [rows[a:b] for a, b in zip([0, *marks], [*marks, len(rows)], strict=True)]
