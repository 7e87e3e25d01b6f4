"""Join two streams and look rows up on Spark, in an environment that has penstock[spark] only."""

import tempfile

import pyarrow as pa

from penstock.spark import join, lookup, metrics
from penstock.spark.session import local


def main():
    spark, folder = local(), tempfile.mkdtemp()
    columns = ["id % 7 AS customer", "timestamp_millis(1700000000000 + id) AS at", "id"]
    events = spark.range(1000).selectExpr(*columns)
    events.write.parquet(f"{folder}/events")
    stream = spark.readStream.schema(events.schema).parquet(f"{folder}/events")
    views = stream.withColumnRenamed("id", "view")
    clicks = stream.where("id % 3 = 0").withColumnRenamed("id", "click")
    for policy in ("auto", "heeb"):
        found = join(
            views, clicks, on="customer", time="at", within="5 seconds", delay="1 second",
            budget=100, policy=policy,
        )  # fmt: skip
        query = found.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        assert metrics(query).matches > 0, policy
    named = lookup(events, fetch, on="customer", budget=3)
    assert named.where("name = 'number 4'").count() == 143
    spark.stop()


def fetch(keys):
    names = [f"number {key}" for key in keys.to_pylist()]
    return pa.table({"customer": keys, "name": pa.array(names, pa.string())})


if __name__ == "__main__":
    main()
