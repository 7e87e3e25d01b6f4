"""What the monitor costs: the time spent on reports of ten queries, beside that of micro-batches.

Ten joins of generated rows run at once in one session. The time of a report is that of the whole
callback in Python: Spark's conversion of the report, the figures, the history and its file. A page
is asked for every 2 seconds and the metrics every 5, and the time to answer counts too.

    .venv/bin/python bench/monitor.py [--queries 10] [--batches 10] [--json PATH]
"""

import argparse
import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.streaming import listener as spark_listener

from penstock.report import server
from penstock.spark import join, monitor
from penstock.spark.session import local

ASKED = {"data.json": 2.0, "metrics": 5.0}  # seconds between two requests


class Clock:
    """Adds up the time that calls of a function take."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **more)
            finally:
                self.seconds.append(time.perf_counter() - began)

        return timed


def start(spark: Any, number: int, folder: Path) -> Any:
    """Start a join of two generated streams."""
    sides = [
        spark.readStream.format("rate")
        .option("rowsPerSecond", 500)
        .load()
        .select((F.col("value") % (100 + side)).alias("k"), F.col("timestamp").alias("ts"))
        for side in (0, 1)
    ]
    checkpoint = folder / f"checkpoint-{number}"
    joined = join(
        *sides, on="k", time="ts", within="1 minute", delay="5 seconds", budget=5000,
        policy="lru", checkpoint=str(checkpoint),
    )  # fmt: skip
    writer = joined.writeStream.format("noop").queryName(f"query {number}")
    return writer.option("checkpointLocation", str(checkpoint)).start()


def ask(url: str, path: str, every: float, done: threading.Event) -> None:
    """Ask as a browser or Prometheus does."""
    while not done.wait(every):
        with urllib.request.urlopen(url + path) as answer:
            answer.read()


def measure(queries: int, batches: int) -> dict[str, Any]:
    """Return how long reports, answers and micro-batches took."""
    reports, answers = Clock(), Clock()
    callback = spark_listener.JStreamingQueryListener
    callback.onQueryProgress = reports.around(callback.onQueryProgress)
    server._Handler.do_GET = answers.around(server._Handler.do_GET)
    spark = local(cores=2, memory="3g", spark_sql_streaming_numRecentProgressUpdates=batches + 50)
    spark.sparkContext.setLogLevel("ERROR")
    done = threading.Event()
    with tempfile.TemporaryDirectory() as name, monitor(spark) as watching:
        running = [start(spark, number, Path(name)) for number in range(queries)]
        asking = [
            threading.Thread(target=ask, args=(watching.url, path, every, done))
            for path, every in ASKED.items()
        ]
        for each in asking:
            each.start()
        while any((each.lastProgress or {"batchId": -1})["batchId"] < batches for each in running):
            time.sleep(2)
        done.set()
        for each in asking:
            each.join()
        progress = [report for query in running for report in query.recentProgress]
        for each in running:
            each.stop()
    spark.stop()
    seconds = [each.durationMs["triggerExecution"] / 1000 for each in progress]
    return {
        "queries": queries,
        "batches": len(seconds),
        "batch_seconds": sum(seconds),
        "report_seconds": sum(reports.seconds),
        "reports": len(reports.seconds),
        "answer_seconds": sum(answers.seconds),
        "answers": len(answers.seconds),
        "share": (sum(reports.seconds) + sum(answers.seconds)) / sum(seconds),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = measure(given.queries, given.batches)
    for what, value in found.items():
        print(f"{what:15} {value:.4g}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
