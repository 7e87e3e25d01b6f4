"""A join with many or large results in a process of its own, whose workers are measured.

    python -m tests.spark.large_driver '{"folder": ..., "case": "hot key", "kind": "stream"}'

Prints one line of JSON: how many rows there were, in how many seconds, and the largest worker in MB
before (`rest`) and after (`peak`).
"""

import json
import os
import sys
import time
from pathlib import Path

CASES = {  # rows and bytes of a text in each, of both sides
    "small": ((100, 100), (100, 100)),
    "hot key": ((3200, 104), (3200, 104)),
    "large row": ((1, 100_000), (30_000, 5)),
    "many": ((10_000, 0), (10_000, 0)),
}


def frame(spark, name: str, rows: int, size: int):
    from pyspark.sql import functions as F

    text = F.rpad(F.col("id").cast("string"), size, "x") if size else F.col("id")
    return spark.range(rows).select(
        F.lit(1).alias("k"), F.timestamp_seconds(F.lit(1000)).alias("ts"), text.alias(name)
    )


def run(spark, folder: Path, case: str, kind: str) -> int:
    """Return how many results there are."""
    from pyspark.sql import functions as F

    from penstock.spark import join, metrics

    options = {"on": "k", "time": "ts", "within": "10 seconds", "delay": "0 seconds"}
    frames = [frame(spark, name, *size) for name, size in zip("ab", CASES[case], strict=True)]
    if kind == "batch":
        found = join(*frames, **options)
        return found.agg(F.count("*"), F.max("a"), F.max("b")).first()[0]
    sources = []
    for name, each in zip("ab", frames, strict=True):
        path = str(folder / case / name)
        each.coalesce(1).write.parquet(path)
        sources.append(spark.readStream.schema(each.schema).parquet(path))
    query = (
        join(*sources, **options)
        .observe("seen", F.count(F.lit(1)).alias("n"))
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / case / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seen = sum(each["observedMetrics"]["seen"]["n"] for each in query.recentProgress)
    assert metrics(query).matches == seen
    return seen


def largest_worker() -> float:
    """Return the most memory that any process below this one, the JVM apart, ever had, in MB."""
    parents, peaks = {}, {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(line.split(":", 1) for line in path.read_text().splitlines())
        except OSError:
            continue  # it has ended meanwhile
        number = int(path.parent.name)
        parents[number] = int(told["PPid"])
        if "VmHWM" in told and told["Name"].strip() != "java":
            peaks[number] = int(told["VmHWM"].split()[0]) / 1024
    mine = [number for number in peaks if _is_below(number, os.getpid(), parents)]
    return max(peaks[number] for number in mine)


def _is_below(number: int, top: int, parents: dict[int, int]) -> bool:
    while number in parents:
        number = parents[number]
        if number == top:
            return True
    return False


def main(given: dict) -> None:
    from penstock.spark.session import local

    spark = local(cores=2, memory="1g")
    folder = Path(given["folder"])
    run(spark, folder, "small", given["kind"])
    rest = largest_worker()
    began = time.monotonic()
    rows = run(spark, folder, given["case"], given["kind"])
    told = {"rows": rows, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(told | {"rest": round(rest), "peak": round(largest_worker())}))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
