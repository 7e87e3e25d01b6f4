"""What an archive costs, and how fast what is owed is found: bytes, micro-batches, reconciling.

The same streams are joined with and without an archive, with a share of the memory that they need;
then what was missed is reconciled, and Spark's own batch join finds everything anew. The results of
both are counted and must be equal in number. Prints a table, and the same as JSON.

    python -m bench.archive [--kind numeric strings] [--share 0.2 0.8] [--rows 1000000]
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import functions as F

from bench.spark_streams import DELAY, SCHEMAS, Workload, write_files
from penstock.spark import join, metrics, reconcile, settled, write
from penstock.spark.figures import JOIN
from penstock.spark.folders import COMPACT
from penstock.spark.observe import figures_of
from penstock.spark.session import local

WARM = 1  # micro-batches that are not counted: the first one compiles
HEADS = {
    "payload": "{0.kind}",
    "memory": "{0.share:.0%}",
    "recall": "{0.recall:.1%}",
    "inputs MB": "{1[inputs]:.1f}",
    "archive MB": "{1[archive]:.1f}",
    "x inputs": "{0.volume:.2f}",
    "x repacked": "{0.repacked_volume:.2f}",
    "batch s": "{0.plain:.2f}",
    "with archive": "{0.archived:.2f}",
    "x": "{0.slower:.2f}",
    "reconcile s": "{0.reconcile:.1f}",
    "Spark's join s": "{0.own:.1f}",
    "peak / budget": "{0.peak:,} / {0.budget:,}",
}


class Cost(NamedTuple):
    """What was measured of one kind of payload and one share of the memory."""

    kind: str
    share: float  # of the rows of the window that may be held
    budget: int
    peak: int  # the most rows held after a micro-batch
    recall: float
    inputs: int  # bytes as Parquet, as the streams were written (snappy)
    repacked: int  # and as the archive is written (zstd)
    archive: int
    plain: float  # seconds of the median micro-batch without an archive
    archived: float
    reconcile: float  # seconds
    own: float  # Spark's batch join of everything

    @property
    def volume(self) -> float:
        """The archive beside the inputs."""
        return self.archive / self.inputs

    @property
    def repacked_volume(self) -> float:
        """The archive beside the inputs, written as it is."""
        return self.archive / self.repacked

    @property
    def slower(self) -> float:
        """How many times as long a micro-batch takes with an archive."""
        return self.archived / self.plain

    def cells(self) -> list[str]:
        """Return this as a line of the table."""
        sizes = {name: getattr(self, name) / 1e6 for name in ("inputs", "archive")}
        return [form.format(self, sizes) for form in HEADS.values()]


def folder_bytes(folder: Path, pattern: str = "**/*.parquet") -> int:
    """Return the bytes of the Parquet files in a folder."""
    return sum(path.stat().st_size for path in folder.glob(pattern))


def streams(spark: Any, folder: Path, work: Workload) -> list[Any]:
    """Return both streams, a file of each in a micro-batch."""
    reader = spark.readStream.schema(SCHEMAS[work.kind]).option("maxFilesPerTrigger", 1)
    return [reader.parquet(str(folder / f"side{side}")) for side in (0, 1)]


def run(spark: Any, folder: Path, work: Workload, budget: int, archive: bool) -> tuple[float, Any]:
    """Run the join to its end; return the seconds of the median micro-batch and the query."""
    out = folder / ("archived" if archive else "plain")
    options: dict[str, Any] = {"time": "ts", "within": f"{work.window} seconds", "budget": budget}
    joined = join(
        *streams(spark, folder, work), on="k", delay=f"{DELAY} seconds", buckets=2, **options
    )
    paths = {"results": out / "results", "checkpoint": out / "checkpoint"}
    if archive:
        query = write(joined, **paths, archive=out / "archive", availableNow=True)
    else:
        sink = joined.writeStream.format("parquet").option("path", str(paths["results"]))
        sink = sink.option("checkpointLocation", str(paths["checkpoint"]))
        query = sink.trigger(availableNow=True).start()
    query.awaitTermination()
    full = [p for p in query.recentProgress if p["numInputRows"] >= work.rows]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in full]
    return statistics.median(times[WARM:]), query


def measure(spark: Any, folder: Path, work: Workload, share: float, batches: int) -> Cost:
    """Measure one kind of payload and one budget."""
    write_files(folder, work, batches)
    budget = int(work.window_rows * share)
    plain, _ = run(spark, folder, work, budget, archive=False)
    archived, query = run(spark, folder, work, budget, archive=True)
    held = [(figures_of(p, JOIN) or {}).get("rows_held", 0) for p in query.recentProgress]
    archive = folder / "archived" / "archive"
    size = folder_bytes(archive, "batch-*/*.parquet")
    began = time.perf_counter()
    reconcile(spark, archive)
    reconciled = time.perf_counter() - began
    frames = [
        spark.read.schema(SCHEMAS[work.kind]).parquet(str(folder / f"side{side}"))
        for side in (0, 1)
    ]
    for side, frame in enumerate(frames):
        frame.write.options(**COMPACT).parquet(str(folder / "repacked" / f"side{side}"))
    began = time.perf_counter()
    _own(frames, work).write.parquet(str(folder / "own"))
    own = time.perf_counter() - began
    full, found = spark.read.parquet(str(folder / "own")).count(), settled(spark, archive).count()
    assert full == found, (full, found)
    inputs = sum(folder_bytes(folder / f"side{side}") for side in (0, 1))
    repacked, recall = folder_bytes(folder / "repacked"), metrics(query).matches / full
    costs = (inputs, repacked, size, plain, archived, reconciled, own)
    return Cost(work.kind, share, budget, max(held), recall, *costs)


def _own(frames: list[Any], work: Workload) -> Any:
    """Return Spark's own batch join of everything."""
    near = f"abs(unix_micros(a.ts) - unix_micros(b.ts)) <= {work.window} * 1000000"
    near += " and unix_micros(a.ts) > 0 and unix_micros(b.ts) > 0"  # where the watermark begins
    left, right = frames[0].alias("a"), frames[1].alias("b")
    others = [name for name in frames[1].columns if name != "k"]
    return left.join(right, [F.col("a.k") == F.col("b.k"), F.expr(near)]).select(
        "a.*", *(F.col(f"b.{name}").alias(f"{name}_right") for name in others)
    )


def show(costs: list[Cost]) -> None:
    """Print the table, and everything as JSON."""
    lines = [list(HEADS), *(cost.cells() for cost in costs)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))
    print(json.dumps([cost._asdict() for cost in costs]), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="+", default=["numeric", "strings"], choices=SCHEMAS)
    parser.add_argument("--share", nargs="+", type=float, default=[0.2, 0.8])
    parser.add_argument("--rows", type=int, default=1_000_000, help="in a micro-batch")
    parser.add_argument("--batches", type=int, default=4)
    given = parser.parse_args()
    spark = local(memory="3g")
    spark.sparkContext.setLogLevel("ERROR")
    costs = []
    for kind in given.kind:
        for share in given.share:
            folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
            try:
                work = Workload(kind, kind, given.rows)
                costs.append(measure(spark, folder, work, share, given.batches))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            show(costs[-1:])
    show(costs)
    spark.stop()


if __name__ == "__main__":
    main()
