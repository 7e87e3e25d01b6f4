"""Clicks and the impressions that they follow: exact, then in a fifth of the memory.

    python examples/clicks_and_impressions.py [FOLDER]

A click belongs to an impression of the same ad and visitor of the last ten minutes. The streams are
folders of Parquet files; put your own into FOLDER/impressions and FOLDER/clicks, or let this write
some.
"""

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.spark import Metrics, join, metrics
from penstock.spark.session import local

SCHEMA = "visitor long, ad long, at timestamp"
WINDOW = {
    "on": ["visitor", "ad"],
    "time": "at",
    "within": ("0 seconds", "10 minutes"),  # a click follows its impression
    "delay": "30 seconds",
}


def write_files(spark: SparkSession, folder: Path, rows: int) -> None:
    """Write impressions of an hour, and a click for one in five of them, some seconds later."""
    shown = spark.range(rows).selectExpr(
        "int(5000 * pow(rand(1), 3)) AS visitor",  # some visitors see a lot
        "int(20 * pow(rand(2), 2)) AS ad",
        f"timestamp_millis(1800000000000 + id * {3_600_000 // rows}) AS at",
    )
    shown = shown.selectExpr("bigint(visitor) AS visitor", "bigint(ad) AS ad", "at").persist()
    shown.orderBy("at").write.parquet(str(folder / "impressions"))
    later = "timestamp_millis(unix_millis(at) + int(300000 * rand(3))) AS at"
    clicks = shown.where("rand(4) < 0.2").selectExpr("visitor", "ad", later)
    clicks.orderBy("at").write.parquet(str(folder / "clicks"))
    shown.unpersist()


def run(joined: DataFrame, folder: Path, name: str) -> Metrics:
    """Run a join into files until all rows are in, and return its figures."""
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = metrics(query)
    assert told is not None
    return told


def main(folder: Path, rows: int = 60_000) -> tuple[Metrics, Metrics]:
    """Join both streams, without a budget and with one, and print what was found."""
    spark = local()
    if not (folder / "impressions").exists():
        write_files(spark, folder, rows)
    impressions, clicks = (
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / name))
        for name in ("impressions", "clicks")
    )

    exact = run(join(impressions, clicks, **WINDOW), folder, "exact")
    print(f"exact: {exact.matches:,} results, {exact.rows_held:,} rows held at the end")

    # A click needs one impression to be useful, so the budget is to buy rows that match.
    budget = max(100, rows // 30)  # the window has about a sixth of the rows
    few = run(
        join(impressions, clicks, **WINDOW, budget=budget, goal="rows", recall_sample=0.2),
        folder,
        "few",
    )
    found, low, high = few.row_recall[1], few.row_recall_low[1], few.row_recall_high[1]
    print(f"budget of {budget:,} rows: {few.rows_matched[1]:,} clicks found an impression")
    print(f"   of {exact.rows_matched[1]:,}: {few.rows_matched[1] / exact.rows_matched[1]:.1%}")
    if found is not None:
        print(f"   estimated while it ran: {found:.1%} ({low:.1%} to {high:.1%})")
    return exact, few


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="clicks-")))
