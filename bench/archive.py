"""What an archive costs, and how fast what is owed is found: bytes, micro-batches, reconciling.

The same streams are joined with and without an archive, with a share of the memory that they need;
then what was missed is reconciled, and Spark's own batch join finds everything anew. The results of
both are counted and must be equal in number. Everything is done in turns, after a small round that
is not counted, and medians are told: of micro-batches, and of reconciling, which starts from a copy
of the archive each time. Both write Parquet by the same session, with its shuffle partitions.
Beside seconds by the clock it tells those of processors: of the JVM and its Python workers, which
other programs disturb less, over whole runs. Prints a line for each part as it is done, its
target, and all of them as JSON.

    python -m bench.archive                      # all four parts
    python -m bench.archive --kind numeric --share 0.8 --batches 3
    python -m bench.archive --kind strings --share 0.2 --in-bytes
    python -m bench.archive --kind narrow --rows 1000 --batches 60  # many small micro-batches
    python -m bench.archive --kind numeric --share 0.8 --batches 20 --no-live  # a long day
"""

import argparse
import json
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from pyspark.sql import functions as F

from bench.spark_streams import DELAY, SCHEMAS, Workload, write_files
from penstock.spark import join, metrics, reconcile, settled, write
from penstock.spark.archive.folders import COMPACT
from penstock.spark.figures import JOIN
from penstock.spark.observe import figures_of
from penstock.spark.session import local

WARM = 1  # micro-batches that are not counted: the first one compiles
ROW = {
    "narrow": 48,
    "numeric": 64,
    "strings": 96,
}  # bytes, about: of a budget that is told in bytes
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
    "x cpu": "{0.slower_cpu:.2f}",
    "reconcile s (cpu)": "{0.reconcile:.1f} ({0.reconcile_cpu:.1f})",
    "Spark's join s (cpu)": "{0.own:.1f} ({0.own_cpu:.1f})",
    "peak / budget": "{0.peak:,} / {0.budget:,}",
}


class Cost(NamedTuple):
    """What was measured of one kind of payload and one share of the memory."""

    kind: str
    share: float  # of the rows of the window that may be held
    budget: int
    peak: int  # the most rows or bytes held after a micro-batch, over all runs with an archive
    recall: float
    inputs: int  # bytes as Parquet, as the streams were written (snappy)
    repacked: int  # and as the archive is written (zstd)
    archive: int
    plain: float  # seconds of the median micro-batch without an archive
    archived: float
    reconcile: float  # seconds
    own: float  # Spark's batch join of everything
    plain_cpu: float  # processor seconds of a whole run without an archive
    archived_cpu: float
    reconcile_cpu: float
    own_cpu: float

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

    @property
    def slower_cpu(self) -> float:
        """How many times as much processor time a run takes with an archive."""
        return self.archived_cpu / self.plain_cpu

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


def run(
    spark: Any, folder: Path, work: Workload, budget: int | str, archive: bool
) -> tuple[list[float], int, Any]:
    """Run the join to its end.

    Returns the seconds of its micro-batches, the most that it held after one, and the query.
    """
    out = folder / ("archived" if archive else "plain")
    shutil.rmtree(out, ignore_errors=True)
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
    reports = query.recentProgress
    full = [p for p in reports if p["numInputRows"] >= work.rows]
    times = [p["durationMs"]["triggerExecution"] / 1000 for p in full]
    counted = "bytes_held" if isinstance(budget, str) else "rows_held"
    peak = max((figures_of(p, JOIN) or {}).get(counted, 0) for p in reports)
    return times[WARM:], peak, query


def measure(
    spark: Any,
    folder: Path,
    work: Workload,
    share: float,
    batches: int,
    rounds: int,
    in_bytes: bool = False,
    live: bool = True,
) -> Cost:
    """Measure one kind of payload and one budget."""
    write_files(folder, work, batches)
    budget = int(work.window_rows * share) * (ROW[work.kind] if in_bytes else 1)
    peak = 0
    seconds: dict[bool, list[float]] = {False: [], True: []}
    whole: dict[bool, list[Spent]] = {False: [], True: []}
    for _ in range(rounds if live else 1):
        for is_on in seconds if live else [True]:
            with timed(whole[is_on]):
                given = f"{budget} B" if in_bytes else budget
                times, held, query = run(spark, folder, work, given, archive=is_on)
            seconds[is_on] += times
            peak = max(peak, held) if is_on else peak
    assert 0 < peak <= budget, (peak, budget)
    archive, kept = folder / "archived" / "archive", folder / "kept"
    size = folder_bytes(archive, "batch-*/*.parquet")
    shutil.copytree(archive, kept)
    reader = spark.read.schema(SCHEMAS[work.kind])
    frames = [reader.parquet(str(folder / f"side{side}")) for side in (0, 1)]
    for side, frame in enumerate(frames):
        frame.write.options(**COMPACT).parquet(str(folder / "repacked" / f"side{side}"))
    reconciled: list[Spent] = []
    own: list[Spent] = []
    for _ in range(rounds):
        shutil.rmtree(archive)
        shutil.copytree(kept, archive)
        with timed(reconciled):
            reconcile(spark, archive)
        with timed(own):
            _own(frames, work).write.mode("overwrite").parquet(str(folder / "own"))
    full, found = spark.read.parquet(str(folder / "own")).count(), settled(spark, archive).count()
    assert full == found, (full, found)
    inputs = sum(folder_bytes(folder / f"side{side}") for side in (0, 1))
    repacked, recall = folder_bytes(folder / "repacked"), metrics(query).matches / full
    clocks = seconds[False], seconds[True], *([each.clock for each in x] for x in (reconciled, own))
    spent = whole[False], whole[True], reconciled, own
    return Cost(
        work.kind,
        share,
        budget,
        peak,
        recall,
        inputs,
        repacked,
        size,
        *map(median, clocks),
        *(median([each.processor for each in x]) for x in spent),
    )


def median(values: list[float]) -> float:
    """Return the median, NaN of nothing."""
    return statistics.median(values) if values else math.nan


class Spent(NamedTuple):
    """Seconds."""

    clock: float
    processor: float


@contextmanager
def timed(found: list[Spent]) -> Iterator[None]:
    """Note how long something took."""
    began, before = time.perf_counter(), processor()
    yield
    found.append(Spent(time.perf_counter() - began, processor() - before))


def processor() -> float:
    """Return the processor seconds of the JVM and its Python workers, also of those that ended."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used = child.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total


def _own(frames: list[Any], work: Workload) -> Any:
    """Return Spark's own batch join of everything."""
    near = f"abs(unix_micros(a.ts) - unix_micros(b.ts)) <= {work.window} * 1000000"
    near += " and unix_micros(a.ts) > 0 and unix_micros(b.ts) > 0"  # where the watermark begins
    left, right = frames[0].alias("a"), frames[1].alias("b")
    others = [name for name in frames[1].columns if name != "k"]
    return left.join(right, [F.col("a.k") == F.col("b.k"), F.expr(near)]).select(
        "a.*", *(F.col(f"b.{name}").alias(f"{name}_right") for name in others)
    )


def verdicts(cost: Cost) -> Iterator[str]:
    """Say which targets there are, and which were reached."""
    asked = [("archive", cost.volume, "the inputs", 1.1)]
    if cost.share == 0.2:
        asked.append(("micro-batch with it", cost.slower, "that without", 1.3))
        asked.append(("its cpu", cost.slower_cpu, "that without", 1.3))
    if cost.share == 0.8:
        asked.append(("reconcile", cost.reconcile / cost.own, "Spark's batch join", 1.0))
        asked.append(("its cpu", cost.reconcile_cpu / cost.own_cpu, "Spark's batch join", 1.0))
    asked.append(("what was held", cost.peak / cost.budget, "the budget", 1.0))
    for what, times, beside, most in asked:
        if math.isnan(times):
            continue
        said = "reached" if times <= most else "MISSED"
        yield f"  {said}: {what} is {times:.2f} x {beside}, target at most {most} x"


def show(costs: list[Cost]) -> None:
    """Print the table."""
    lines = [list(HEADS), *(cost.cells() for cost in costs)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="+", default=["numeric", "strings"], choices=SCHEMAS)
    parser.add_argument("--share", nargs="+", type=float, default=[0.2, 0.8])
    parser.add_argument("--rows", type=int, default=1_000_000, help="in a micro-batch")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--no-live", action="store_true", help="run the live join for its archive alone, once"
    )
    parser.add_argument("--in-bytes", action="store_true", help="budgets, and not in rows")
    given = parser.parse_args()
    spark = local(memory="3g")
    spark.sparkContext.setLogLevel("ERROR")

    def part(kind: str, share: float, rows: int, rounds: int) -> Cost:
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
            work = Workload(kind, kind, rows)
            options = given.batches, rounds, given.in_bytes, not given.no_live
            return measure(spark, Path(folder), work, share, *options)

    costs = []
    for kind in given.kind:
        part(kind, 0.5, min(given.rows, 100_000), 1)  # compiles
        for share in given.share:
            began = time.perf_counter()
            costs.append(part(kind, share, given.rows, given.rounds))
            show(costs[-1:])
            print(*verdicts(costs[-1]), sep="\n")
            print(f"  {time.perf_counter() - began:.0f} s for this part", flush=True)
    show(costs)
    print(json.dumps([cost._asdict() for cost in costs]))
    spark.stop()


if __name__ == "__main__":
    main()
