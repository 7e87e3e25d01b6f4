"""What the monitor costs: processor time of the driver with and without it, at ten queries.

Ten joins of generated rows run at once in one session. When all of them are warm, periods with and
without the monitor follow each other. With it, a process asks for the page's data every 2 seconds
and for the metrics every 5, as a browser and Prometheus do. Its cost is what the driver's Python
process, and the threads of the JVM that hand reports over to Python, take more of the processor's
time than without it; beside it stands the processor time of all that runs the micro-batches: the
JVM and the Python workers. Clocks would show nothing: ten queries keep every core busy.

    .venv/bin/python bench/monitor.py [--queries 10] [--seconds 30] [--json PATH]   # 4 minutes
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from penstock.spark import join, monitor
from penstock.spark.session import local

ASK = """
import sys, time, urllib.request
for second in range(10**6):
    for path, every in (("data.json", 2), ("metrics", 5)):
        if second % every == 0:
            urllib.request.urlopen(sys.argv[1] + path).read()
    time.sleep(1)
"""
HANDING_OVER = ("spark-listener-group-streams", "Thread-")  # its bus, and connections of Py4J


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


def until_batch(running: list[Any], wanted: int) -> None:
    """Wait until every query has run so many micro-batches."""
    for query in running:
        while query.recentProgress[-1:] == [] or query.lastProgress["batchId"] < wanted:
            if query.exception():
                raise query.exception()
            time.sleep(1)


class Meter:
    """Processor time in seconds since the start."""

    def __init__(self, spark: Any):
        java = spark._jvm.java.lang.management.ManagementFactory
        self.threads = java.getThreadMXBean()
        self.jvm = java.getRuntimeMXBean().getPid()

    def read(self) -> dict[str, float]:
        """Return what the driver took in Python, to hand reports over, and to run the queries."""
        mine, jvm = time.process_time(), 0
        for each in self.threads.getThreadInfo(self.threads.getAllThreadIds()):
            if each is not None and each.getThreadName().startswith(HANDING_OVER):
                jvm += max(0, self.threads.getThreadCpuTime(each.getThreadId()))
        return {"python": mine, "jvm": jvm / 1e9, "queries": used_below(self.jvm)}


def used_below(top: int) -> float:
    """Return the processor time of a process and of all that it has started."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        stats[int(path.parent.name)] = (int(words[1]), sum(map(int, words[11:15])))
    below, found = [top], 0
    while below:
        parent = below.pop()
        found += stats[parent][1]
        below += [pid for pid, (its, _) in stats.items() if its == parent]
    return found / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched(spark: Any, is_on: bool) -> Iterator[None]:
    """Let the monitor run, and ask it, or not."""
    if not is_on:
        yield
        return
    with monitor(spark) as watching:
        asking = subprocess.Popen([sys.executable, "-c", ASK, watching.url])
        try:
            yield
        finally:
            asking.kill()
            asking.wait()


def measure(queries: int, seconds: float, rounds: int, warm: int) -> dict[str, Any]:
    """Return what periods with and without the monitor took of the processor's time."""
    spark = local(cores=2, memory="3g")
    spark.sparkContext.setLogLevel("ERROR")
    periods = []
    with tempfile.TemporaryDirectory() as name:
        running = []
        for number in range(queries):  # not at once: Spark gives each 10 seconds to begin
            running.append(start(spark, number, Path(name)))
            until_batch(running[-1:], 0)
        until_batch(running, warm)
        meter = Meter(spark)
        meter.read()
        for is_on in (False, True) * rounds:
            with watched(spark, is_on):
                time.sleep(3)  # connections are open, and pages loaded
                before = {"reports": reports(running)} | meter.read()
                time.sleep(seconds)
                after = meter.read() | {"reports": reports(running)}
                took = {what: each - before[what] for what, each in after.items()}
                periods.append({"on": is_on} | took)
        for each in running:
            each.stop()
    spark.stop()
    return {"queries": queries, "periods": periods} | compared(periods)


def reports(running: list[Any]) -> int:
    """Return how many micro-batches were run so far."""
    return sum(query.lastProgress["batchId"] for query in running)


def compared(periods: list[dict[str, Any]]) -> dict[str, float]:
    """Return what the monitor takes more, beside what the queries take."""

    def total(name: str, is_on: bool) -> float:
        return sum(each[name] for each in periods if each["on"] == is_on)

    queries, reports = total("queries", True), total("reports", True)
    more = {what: total(what, True) - total(what, False) for what in ("python", "jvm")}
    cost = sum(more.values())
    return {
        "queries_seconds": queries,
        "reports": reports,
        "python_seconds": more["python"],
        "jvm_seconds": more["jvm"],
        "share": cost / queries,
        "milliseconds_a_report": 1000 * cost / reports,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30, help="of a period")
    parser.add_argument("--rounds", type=int, default=2, help="periods without and with it")
    parser.add_argument("--warm", type=int, default=5, help="micro-batches before")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = measure(given.queries, given.seconds, given.rounds, given.warm)
    for what, value in found.items():
        if what != "periods":
            print(f"{what:22} {value:.4g}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
