"""What a user would do instead of a lookup."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

COLUMNS = ("name", "city", "tier", "score")
RESULT = "k long, v double, name string, city string, tier int, score double, asked long"
HABIT = "habit"
_caches: dict[Any, Any] = {}  # of a worker, across its tasks


def habit(stream: DataFrame, uri: str, table: str, memory: int, partitions: int) -> DataFrame:
    """Look every row up by itself, behind a `functools.lru_cache` in each partition."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from bench.lookup_rivals import row_cache

        find = row_cache(uri, table, memory // partitions)
        before = find.cache_info().misses
        for batch in batches:
            rows = [find(key) for key in batch.column(0).to_pylist()]
            columns = [pa.array([row[place] for row in rows]) for place in range(len(COLUMNS))]
            asked = [0] * len(rows)
            if asked:
                asked[0] = find.cache_info().misses - before
                before = find.cache_info().misses
            columns[2] = columns[2].cast(pa.int32())
            names = ["k", "v", *COLUMNS, "asked"]
            yield pa.RecordBatch.from_arrays([*batch.columns, *columns, pa.array(asked)], names)

    return stream.mapInArrow(work, RESULT).observe(HABIT, F.sum("asked").alias("asked"))


def row_cache(uri: str, table: str, size: int) -> Callable:
    """Return the cached function of this worker that fetches one row."""
    import adbc_driver_postgresql.dbapi as driver

    if (uri, table) not in _caches:
        cursor = driver.connect(uri, autocommit=True).cursor()
        sql = f"SELECT {', '.join(COLUMNS)} FROM {table} WHERE id = $1"

        @functools.lru_cache(maxsize=size)
        def find(key: int) -> tuple:
            cursor.execute(sql, (key,))
            return cursor.fetchone()

        _caches[uri, table] = find
    return _caches[uri, table]


def broadcast(stream: DataFrame, uri: str, table: str) -> DataFrame:
    """Read the whole table once, and let Spark send it to every executor."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id AS k, {', '.join(COLUMNS)} FROM {table}")
        rows = cursor.fetch_arrow_table()
    frame = stream.sparkSession.createDataFrame(rows)
    return stream.join(F.broadcast(frame), "k", "left")
