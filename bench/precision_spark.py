"""Thinning on Spark: rows a second, beside a job that only shuffles and sorts the same rows by key.

Run: python bench/precision_spark.py [--rows N] [--keys K ...] [--repeats R] [--json FILE]
Each job writes to nowhere. Jobs take turns, and the best of their times counts: other work on the
machine makes times longer, never shorter. A stream goes in 8 micro-batches; the first is left out.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from penstock.precision.thinning import Thinner
from penstock.spark.session import local
from penstock.spark.thin import thin

FILES = 8
SCHEMA = "k long, at timestamp, v double"
RULES = ("static:width=3", "settling")
ASKED = 20  # readings for each query
SORT = "shuffle and sort"


def write(folder: Path, rows: int, keys: int) -> None:
    """Write a random walk of each key, and queries, in the order of time."""
    random = np.random.default_rng(1)
    key = random.integers(0, keys, rows)
    steps = random.uniform(0.5, 1.5, rows) * random.choice([-1, 1], rows)
    order = np.argsort(key, kind="stable")
    value = np.empty(rows)
    value[order] = np.cumsum(steps[order])
    micro = 1_700_000_000_000_000 + np.arange(rows) * 100
    asks = np.arange(0, rows, ASKED)
    tables = {
        "readings": (key, micro, value),
        "queries": (random.permutation(key[asks]), micro[asks], random.uniform(0, 40, len(asks))),
    }
    for name, columns in tables.items():
        (folder / name).mkdir(parents=True)
        number = "v" if name == "readings" else "delta"
        when = pa.array(columns[1]).view(pa.timestamp("us", "UTC"))
        table = pa.table({"k": columns[0], "at": when, number: columns[2]})
        size = -(-table.num_rows // FILES)
        for part in range(FILES):
            pq.write_table(table.slice(part * size, size), folder / name / f"{part:02}.parquet")


def jobs(folder: Path):
    """Return what is measured: a name, how a frame is read, and what is done to it last."""

    def readings(reader):
        return reader.schema(SCHEMA).parquet(str(folder / "readings"))

    def queries(reader):
        return reader.schema(SCHEMA.replace("v ", "delta ")).parquet(str(folder / "queries"))

    def thinned(rule, asked):
        def make(reader):
            more = {"queries": queries(reader)} if asked else {}
            return thin(readings(reader), "k", "v", "at", rule=rule, **more)

        return make

    yield SORT, readings, lambda frame: frame.repartition("k").sortWithinPartitions("k", "at")
    for rule in RULES:
        yield f"thin, {rule}", thinned(rule, asked=rule != RULES[0]), lambda frame: frame


def write_nowhere(frame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def batch_seconds(spark, make, finish) -> float:
    frame = finish(make(spark.read))
    start = time.perf_counter()
    write_nowhere(frame)
    return time.perf_counter() - start


def stream_seconds(spark, make, finish) -> float:
    """Return the median time of a micro-batch, times their number; Spark sorts no streams."""
    frame = make(spark.readStream.option("maxFilesPerTrigger", 1))
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            frame.writeStream.foreachBatch(lambda batch, number: write_nowhere(finish(batch)))
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        told = [progress for progress in query.recentProgress if progress["numInputRows"]]
    times = [progress["durationMs"]["triggerExecution"] for progress in told]
    return float(np.median(times[1:])) / 1000 * FILES


def local_speed(rows: int, keys: int) -> float:
    """Return rows a second of the engine alone, by the processor's time."""
    random = np.random.default_rng(1)
    key, value = random.integers(0, keys, rows), random.normal(size=rows)
    Thinner("settling").push(key[:9], np.arange(9), value[:9])  # compiles
    start = time.process_time()
    Thinner("settling").push(key, np.arange(rows), value)
    return rows / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    spark = local(spark_ui_showConsoleProgress="false")
    spark.sparkContext.setLogLevel("ERROR")
    report = {"machine": platform.node(), "rows": chosen.rows, "jobs": []}
    for keys in chosen.keys:
        print(f"{keys:,} keys; the engine alone {local_speed(chosen.rows, keys):,.0f} rows/s")
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), chosen.rows, keys)
            for kind, measure in (("batch", batch_seconds), ("stream", stream_seconds)):
                report["jobs"] += compare(spark, Path(folder), keys, kind, measure, chosen)
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")
    spark.stop()


def compare(spark, folder: Path, keys: int, kind: str, measure, chosen) -> list[dict]:
    best: dict[str, float] = {}
    for _ in range(chosen.repeats):
        for name, make, finish in jobs(folder):
            best[name] = min(best.get(name, np.inf), measure(spark, make, finish))
    floor = best[SORT]
    rows = []
    for name, seconds in best.items():
        speed = chosen.rows / seconds
        print(f"  {kind:6}  {name:22} {speed:12,.0f} rows/s  {seconds / floor:5.2f} × the floor")
        row = {"keys": keys, "kind": kind, "job": name}
        rows.append(row | {"rows_per_second": speed, "of_floor": seconds / floor})
    return rows


if __name__ == "__main__":
    main()
