"""The truth: how many results there are, by Spark's own batch join."""

from typing import Any

from pyspark.sql import functions as F

from ...core.durations import microseconds
from .flights import DEPARTURES, LANDINGS, SCHEMA, Streams
from .live import ON, WITHIN


def count_all(spark: Any, streams: Streams) -> int:
    """Return how many results unlimited memory finds.

    Time is cut into cells as long as the window, and a row meets those of its own cell and of
    both neighbours. Joined on equal keys alone, a year makes a thousand million pairs to compare,
    which takes minutes.
    """
    window = microseconds(WITHIN, "within")
    cell = F.floor(F.col("at") / window)
    left = _rows(spark, streams, DEPARTURES).withColumn("cell", cell)
    right = (
        _rows(spark, streams, LANDINGS)
        .withColumn("cell", F.explode(F.array(cell - 1, cell, cell + 1)))
        .withColumnRenamed("at", "landed")
    )
    near = F.abs(F.col("at") - F.col("landed")) <= window
    return left.join(right, [*ON, "cell"]).where(near).count()


def _rows(spark: Any, streams: Streams, name: str) -> Any:
    rows = spark.read.schema(SCHEMA).parquet(str(streams.folder / name))
    return rows.select(*ON, F.unix_micros("at").alias("at"))
