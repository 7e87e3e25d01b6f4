"""The truth: how many results there are, and rows in them, by Spark's own batch joins."""

from typing import Any, NamedTuple

from pyspark.sql import functions as F

from ...core.durations import microseconds
from .flights import DEPARTURES, LANDINGS, SCHEMA, Streams
from .live import ON, WITHIN


class Truth(NamedTuple):
    """What unlimited memory finds."""

    results: int
    rows: tuple[int, int]  # departures and landings that are in at least one result


def count_all(spark: Any, streams: Streams) -> Truth:
    """Return how many results unlimited memory finds, and how many rows are in one.

    Time is cut into cells as long as the window, and a row meets those of its own cell and of
    both neighbours. Joined on equal keys alone, a year makes a thousand million pairs to compare,
    which takes minutes.
    """
    window = microseconds(WITHIN, "within")
    cell = F.floor(F.col("at") / window)
    around = F.explode(F.array(cell - 1, cell, cell + 1))
    rows = [_rows(spark, streams, name) for name in (DEPARTURES, LANDINGS)]
    once = [each.withColumn("cell", cell) for each in rows]
    thrice = [each.withColumn("cell", around) for each in rows]
    results = _joined(once[0], thrice[1], window, "inner").count()
    partners = zip(once, reversed(thrice), strict=True)
    left, right = (_joined(one, two, window, "left_semi").count() for one, two in partners)
    return Truth(results, (left, right))


def _joined(left: Any, right: Any, window: int, how: str) -> Any:
    """Join rows of one cell and near times."""
    one, two = left.alias("one"), right.alias("two")
    same = [F.col(f"one.{name}") == F.col(f"two.{name}") for name in (*ON, "cell")]
    near = F.abs(F.col("one.at") - F.col("two.at")) <= window
    return one.join(two, [*same, near], how)


def _rows(spark: Any, streams: Streams, name: str) -> Any:
    rows = spark.read.schema(SCHEMA).parquet(str(streams.folder / name))
    return rows.select(*ON, F.unix_micros("at").alias("at"))
