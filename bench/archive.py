"""What an archive costs, and how fast what is owed is found: bytes, micro-batches, reconciling.

The same streams are joined with and without an archive, with a share of the memory that they need;
then what was missed is reconciled, and Spark's own batch join finds everything anew. The results of
both are counted and must be equal in number.

    python -m bench.archive [--kind numeric strings] [--share 0.2 0.8] [--batches 17]
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import functions as F

from bench.spark_streams import DELAY, SCHEMAS, Workload, write_files
from penstock.spark import join, metrics, reconcile, settled, write
from penstock.spark.folders import COMPACT
from penstock.spark.session import local

ROWS = 50_000  # a micro-batch
WARM = 3  # micro-batches that are not counted: they compile, and the first one fills the window


class Cost(NamedTuple):
    """What was measured of one kind of payload and one share of the memory."""

    kind: str
    share: float  # of the rows of the window that may be held
    recall: float
    inputs: int  # bytes as Parquet, as the streams were written (snappy)
    repacked: int  # and as the archive is written (zstd)
    archive: int
    plain: float  # seconds of the median micro-batch without an archive
    archived: float
    reconcile: float  # seconds
    own: float  # Spark's batch join of everything


def folder_bytes(folder: Path, pattern: str = "**/*.parquet") -> int:
    """Return the bytes of the Parquet files in a folder."""
    return sum(path.stat().st_size for path in folder.glob(pattern))


def streams(spark: Any, folder: Path, work: Workload) -> list[Any]:
    """Return both streams, a file of each in a micro-batch."""
    reader = spark.readStream.schema(SCHEMAS[work.kind]).option("maxFilesPerTrigger", 1)
    return [reader.parquet(str(folder / f"side{side}")) for side in (0, 1)]


def run(spark: Any, folder: Path, work: Workload, budget: int, archive: bool) -> tuple[float, Any]:
    """Run the join to its end; return the seconds of the median micro-batch and its figures."""
    out = folder / ("archived" if archive else "plain")
    options: dict[str, Any] = {"time": "ts", "within": f"{work.window} seconds", "budget": budget}
    options |= {"delay": f"{DELAY} seconds", "buckets": 2}
    options |= {"archive": out / "archive"} if archive else {}
    joined = join(*streams(spark, folder, work), on="k", **options)
    paths = {"results": out / "results", "checkpoint": out / "checkpoint"}
    if archive:
        query = write(joined, **paths, availableNow=True)
    else:
        sink = joined.writeStream.format("parquet").option("path", str(paths["results"]))
        sink = sink.option("checkpointLocation", str(paths["checkpoint"]))
        query = sink.trigger(availableNow=True).start()
    query.awaitTermination()
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress]
    return statistics.median(times[WARM:-1]), metrics(query)


def measure(spark: Any, folder: Path, kind: str, share: float, batches: int) -> Cost:
    """Measure one kind of payload and one budget."""
    work = Workload(kind, kind, ROWS)
    write_files(folder, work, batches)
    budget = int(work.window_rows * share)
    plain, _ = run(spark, folder, work, budget, archive=False)
    archived, told = run(spark, folder, work, budget, archive=True)
    archive = folder / "archived" / "archive"
    size = folder_bytes(archive, "batch-*/*.parquet")
    began = time.perf_counter()
    reconcile(spark, archive)
    reconciled = time.perf_counter() - began
    frames = [
        spark.read.schema(SCHEMAS[kind]).parquet(str(folder / f"side{side}")) for side in (0, 1)
    ]
    for side, frame in enumerate(frames):
        frame.write.options(**COMPACT).parquet(str(folder / "repacked" / f"side{side}"))
    near = f"abs(unix_micros(a.ts) - unix_micros(b.ts)) <= {work.window} * 1000000"
    near += " and unix_micros(a.ts) > 0 and unix_micros(b.ts) > 0"  # where the watermark begins
    began = time.perf_counter()
    left, right = frames[0].alias("a"), frames[1].alias("b")
    left.join(right, [F.col("a.k") == F.col("b.k"), F.expr(near)]).select(
        "a.*", F.col("b.ts").alias("ts_right")
    ).write.parquet(str(folder / "own"))
    own = time.perf_counter() - began
    full, found = spark.read.parquet(str(folder / "own")).count(), settled(spark, archive).count()
    assert full == found, (full, found)
    inputs = sum(folder_bytes(folder / f"side{side}") for side in (0, 1))
    repacked = folder_bytes(folder / "repacked")
    recall = told.matches / full
    return Cost(kind, share, recall, inputs, repacked, size, plain, archived, reconciled, own)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="+", default=["numeric", "strings"], choices=SCHEMAS)
    parser.add_argument("--share", nargs="+", type=float, default=[0.2, 0.8])
    parser.add_argument("--batches", type=int, default=17)
    given = parser.parse_args()
    spark = local(memory="3g")
    spark.sparkContext.setLogLevel("ERROR")
    for kind in given.kind:
        for share in given.share:
            folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
            try:
                cost = measure(spark, folder, kind, share, given.batches)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print(
                f"{kind}, memory {share:.0%}: recall {cost.recall:.1%}; archive "
                f"{cost.archive / 1e6:.1f} MB, inputs {cost.inputs / 1e6:.1f} MB "
                f"({cost.archive / cost.inputs:.2f} x), repacked {cost.repacked / 1e6:.1f} MB "
                f"({cost.archive / cost.repacked:.2f} x); micro-batch {cost.plain:.2f} s, with "
                f"archive {cost.archived:.2f} s ({cost.archived / cost.plain:.2f} x); reconcile "
                f"{cost.reconcile:.1f} s, Spark's batch join {cost.own:.1f} s",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
