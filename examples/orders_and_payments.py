"""Orders and their payments: each order with its first payment, and those that were not paid.

    python examples/orders_and_payments.py [FOLDER]

`match="first"` lets an order leave the memory with its first payment, so paid orders cost nothing
while they wait for the window to end. `how="left"` returns the others with nulls when their time is
over: the list of orders to remind of.
"""

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.spark import Metrics, join, metrics
from penstock.spark.session import local


def write_files(spark: SparkSession, folder: Path, rows: int) -> None:
    """Write an order a second, and payments: none for one in ten, two for one in twenty."""
    at = "timestamp_seconds(1800000000 + id)"
    orders = spark.range(rows).selectExpr("id AS order_id", f"{at} AS at", "id % 90 + 10 AS total")
    orders.write.parquet(str(folder / "orders"))
    paid = (
        spark.range(rows).where("id % 10 > 0").selectExpr("id AS order", "id * 7 % 1200 AS after")
    )
    again = spark.range(rows).where("id % 20 = 1").selectExpr("id AS order", "1500L AS after")
    payments = paid.union(again).selectExpr(
        "order", "timestamp_seconds(1800000000 + order + after) AS at", "order * 10 AS payment"
    )
    payments.orderBy("at").write.parquet(str(folder / "payments"))


def main(folder: Path, rows: int = 20_000) -> Metrics:
    """Join orders with their first payment within half an hour; print who has not paid."""
    spark = local()
    if not (folder / "orders").exists():
        write_files(spark, folder, rows)
    orders = spark.readStream.schema("order_id long, at timestamp, total long").parquet(
        str(folder / "orders")
    )
    payments = spark.readStream.schema("order long, at timestamp, payment long").parquet(
        str(folder / "payments")
    )

    joined = join(
        orders,
        payments,
        on={"order_id": "order"},
        time="at",
        within=("0 seconds", "30 minutes"),
        how="left",
        match="first",
        delay="10 seconds",
    )
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(folder / "paid"))
        .option("checkpointLocation", str(folder / "paid-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = metrics(query)
    assert told is not None
    found = spark.read.parquet(str(folder / "paid"))
    print(f"{found.where('payment IS NOT NULL').count():,} orders with their first payment")
    print(f"{found.where('payment IS NULL').count():,} orders that were not paid in time")
    print(f"{told.completed[0]:,} orders left the memory as soon as they were paid")
    return told


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="orders-")))
