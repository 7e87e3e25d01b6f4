"""Spark's own stream-stream join and Penstock's side by side, in one run.

Every contender joins the same files: a window of 100 s at 1,000 rows a second and side, about one
match a row, one file a side and micro-batch. Reported are medians of the steady micro-batches,
after those in which the window fills and the machine warms up; the machine is shared, so only
ratios within one run mean much.
"""

import argparse
import json
import platform
import shutil
import statistics
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

WITHIN_SECONDS, DELAY_SECONDS, RATE = 100, 10, 1_000
SCHEMAS = {
    "numeric": "k long, ts timestamp, v double",
    "strings": "k long, ts timestamp, a string, b string",
}
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE = "spark.sql.streaming.stateStore.providerClass"
FORMAT = "spark.sql.streaming.join.stateFormatVersion"


@dataclass(frozen=True)
class Contender:
    """One way to run the join: Spark's own by its store and format, ours by its budget."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()
    budget_share: float | None = None  # of the window; ours only
    ours: bool = False


OWN_MEMORY = Contender("spark, in memory")
OWN_ROCKS_2 = Contender("spark, RocksDB, format 2", ((STORE, ROCKS), (FORMAT, "2")))
OWN_ROCKS_4 = Contender("spark, RocksDB, format 4", ((STORE, ROCKS), (FORMAT, "4")))
EXACT = Contender("penstock, exact", ours=True)
TENTH = Contender("penstock, 10 % of the window", budget_share=0.10, ours=True)
HUNDREDTH = Contender("penstock, 1 % of the window", budget_share=0.01, ours=True)
ALL = (OWN_MEMORY, OWN_ROCKS_2, OWN_ROCKS_4, EXACT, TENTH, HUNDREDTH)


def write_files(folder: Path, kind: str, rows: int, batches: int) -> None:
    """Write one file a side and micro-batch; `rows` counts both sides."""
    per_side = rows // 2
    words = np.array([f"word-{number:06d}" for number in range(10_000)])
    for side in (0, 1):
        random = np.random.default_rng(side)
        (folder / f"side{side}").mkdir(parents=True)
        for batch in range(batches):
            first = batch * per_side
            micros = (first + np.arange(per_side)) * (1_000_000 // RATE)
            columns = {
                "k": random.integers(0, 2 * WITHIN_SECONDS * RATE, per_side),
                "ts": pa.array(micros).view(pa.timestamp("us", "UTC")),
            }
            if kind == "numeric":
                columns["v"] = random.random(per_side)
            else:
                columns["a"] = words[random.integers(0, len(words), per_side)]
                columns["b"] = words[random.integers(0, len(words), per_side)]
            pq.write_table(pa.table(columns), folder / f"side{side}" / f"{batch:05d}.parquet")


class Peak:
    """The most memory that the JVM and the Python workers took while it watched."""

    def __init__(self) -> None:
        self.jvm = self.python = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.5):
            jvm = python = 0
            for child in me.children(recursive=True):
                try:
                    size = child.memory_info().rss
                    if "java" in child.name():
                        jvm += size
                    else:
                        python += size
                except psutil.Error:
                    continue
            self.jvm, self.python = max(self.jvm, jvm), max(self.python, python)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def frame(spark, contender: Contender, folder: Path, kind: str):
    """Return the joined stream of one contender."""
    from pyspark.sql import functions as F

    from penstock.spark import join

    sides = [
        spark.readStream.schema(SCHEMAS[kind])
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / f"side{side}"))
        for side in (0, 1)
    ]
    if contender.ours:
        window = 2 * RATE * (WITHIN_SECONDS + DELAY_SECONDS)
        budget = None
        if contender.budget_share is not None:
            budget = int(window * contender.budget_share)
        return join(
            *sides,
            "k",
            time="ts",
            within=f"{WITHIN_SECONDS} seconds",
            delay=f"{DELAY_SECONDS} seconds",
            budget=budget,
        )
    left, right = (
        side.withWatermark("ts", f"{DELAY_SECONDS} seconds").alias(name)
        for side, name in zip(sides, "lr", strict=True)
    )
    span = f"interval {WITHIN_SECONDS} seconds"
    near = F.expr(f"l.k = r.k and l.ts between r.ts - {span} and r.ts + {span}")
    return left.join(right, near)


def measure(spark, contender: Contender, folder: Path, kind: str, warm: int) -> dict:
    """Run one contender over all files and return its figures."""
    from penstock.spark import metrics

    before = {name: spark.conf.get(name, None) for name, _ in contender.settings}
    for name, value in contender.settings:
        spark.conf.set(name, value)
    checkpoint = tempfile.mkdtemp(prefix="penstock-bench-")
    try:
        with Peak() as peak:
            query = (
                frame(spark, contender, folder, kind)
                .writeStream.format("noop")
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        steady = [p for p in query.recentProgress if p["numInputRows"]][warm:]
        seconds = statistics.median(p["durationMs"]["triggerExecution"] for p in steady) / 1000
        rows = statistics.median(p["numInputRows"] for p in steady)
        ours = metrics(query) if contender.ours else None
        state = ours.bytes_held if ours else steady[-1]["stateOperators"][0]["memoryUsedBytes"]
        return {
            "seconds_a_batch": seconds,
            "rows_per_second": rows / seconds,
            "state_bytes": state,
            "peak_jvm_bytes": peak.jvm,
            "peak_python_bytes": peak.python,
            "batches_measured": len(steady),
            "metrics": asdict(ours) if ours else None,
        }
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def run(kinds, sizes, batches: int, warm: int, contenders, console: Console) -> dict:
    """Measure every contender on every kind and size of batch."""
    from penstock.spark.session import local

    spark = local(memory="8g")
    spark.sparkContext.setLogLevel("ERROR")
    report: dict = {"machine": platform.machine(), "batches": batches, "results": []}
    for kind in kinds:
        for rows in sizes:
            with tempfile.TemporaryDirectory(prefix="penstock-data-") as folder:
                write_files(Path(folder), kind, rows, batches)
                for contender in contenders:
                    began = time.perf_counter()
                    figures = measure(spark, contender, Path(folder), kind, warm)
                    report["results"].append(
                        {"kind": kind, "rows_a_batch": rows, "contender": contender.name} | figures
                    )
                    console.print(
                        f"{kind} {rows:,}: {contender.name}: {figures['seconds_a_batch']:.2f} s a "
                        f"batch ({time.perf_counter() - began:.0f} s in all)"
                    )
    spark.stop()
    return report


def show(report: dict, console: Console) -> None:
    """Print a table per kind and size, with ratios to the in-memory join of Spark."""
    groups: dict = {}
    for row in report["results"]:
        groups.setdefault((row["kind"], row["rows_a_batch"]), []).append(row)
    for (kind, size), rows in groups.items():
        base = next((r for r in rows if r["contender"] == OWN_MEMORY.name), rows[0])
        table = Table(title=f"{kind}, {size:,} rows a batch", title_justify="left")
        columns = ("s a batch", "rows/s", "x own", "state MB", "JVM MB", "Python MB")
        table.add_column("contender")
        for name in columns:
            table.add_column(name, justify="right")
        for row in rows:
            table.add_row(
                row["contender"],
                f"{row['seconds_a_batch']:.2f}",
                f"{row['rows_per_second']:,.0f}",
                f"{row['rows_per_second'] / base['rows_per_second']:.1f}",
                f"{row['state_bytes'] / 1e6:.1f}",
                f"{row['peak_jvm_bytes'] / 1e6:.0f}",
                f"{row['peak_python_bytes'] / 1e6:.0f}",
            )
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the report")
    parser.add_argument("--kinds", nargs="+", default=list(SCHEMAS), choices=list(SCHEMAS))
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--warm", type=int, default=4, help="micro-batches that are not counted")
    parser.add_argument("--contenders", nargs="+", default=[c.name for c in ALL])
    options = parser.parse_args()
    chosen = [c for c in ALL if c.name in options.contenders]
    console = Console(stderr=True)
    report = run(options.kinds, options.rows, options.batches, options.warm, chosen, console)
    show(report, Console())
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
