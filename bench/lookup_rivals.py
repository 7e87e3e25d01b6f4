"""What a user would do instead of a lookup, and the other place where its cache could live."""

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

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


def in_worker(stream: DataFrame, uri: str, table: str, memory: int, policy: str) -> DataFrame:
    """Look up with the cache in the memory of the Python workers, empty wherever it is lost.

    Only for the measurement: it forgets changes that it did not see, because a bucket moves between
    the workers of an executor and finds there what it left some micro-batches ago.
    """
    from penstock.spark import Relation, lookup, operator

    def stateless(packets: DataFrame, work: Any, streaming: bool) -> DataFrame:
        schema = operator.PACKET + "".join(f", {name} double" for name in work.counters)
        return packets.groupBy("bucket").applyInArrow(remembering(work), schema)

    relation = Relation(uri, table=table, key="id")
    with patch.object(sys.modules["penstock.spark.lookup"], "run_buckets", stateless):
        return lookup(stream, relation, "k", budget=memory, policy=policy)


def remembering(work: Any) -> Callable:
    """Return the function that serves a bucket from what this worker remembers of it."""
    numbers = {label: number for number, label in enumerate(work.labels)}

    def serve(key: tuple, table: pa.Table) -> pa.Table:
        from bench import lookup_rivals as here
        from penstock.spark.runtime import operator
        from penstock.spark.runtime.bucket import Outcome

        number = numbers[key[0].as_py()]
        if number not in here._caches:
            here._caches[number] = work.open_bucket(number, None)
        bucket = here._caches[number]
        before = dict(bucket.totals)
        rows = list(zip(*(table[name].to_pylist() for name in operator.PACKED), strict=True))
        made = bucket.serve(operator._in_order(rows))
        told = {name: bucket.totals[name] - before[name] for name in before}
        told |= {"held": float(bucket.cache.held), "bytes": 0.0}
        columns = operator._columns(Outcome(made, told, None), work.counters)
        kinds = [pa.int32(), pa.binary(), *[pa.float64()] * len(work.counters)]
        arrays = [pa.array(columns[n], kind) for n, kind in zip(columns, kinds, strict=True)]
        return pa.Table.from_arrays(arrays, names=list(columns))

    return serve
