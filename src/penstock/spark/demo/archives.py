"""Two real streams joined in a tenth of the memory, and what was missed delivered later."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F
from rich import box
from rich.table import Table

from ...kernel.durations import microseconds
from ..archive import write
from ..join import join
from ..metrics import Metrics, metrics
from ..quiet import SHORT, quiet_session
from ..reconcile import Owed, owed, reconcile, settled
from .joins import (
    DELAY,
    DEPARTURES,
    LANDINGS,
    ON,
    PARTS,
    SAMPLE,
    SCHEMA,
    SHARE,
    WITHIN,
    Streams,
    write_streams,
)

NAME = "live-and-reconciled.png"
POLICY = "prob"
INK, GREY, LIVE, LATER = "#1d1d1f", "#5f6368", "#7fb0e6", "#b5d99c"


@dataclass(frozen=True)
class Month:
    """The results whose departure is in one month: how many, and a sum of their hashes."""

    month: str
    count: int
    checksum: int


@dataclass(frozen=True)
class ArchiveDemo:
    """What the demonstration found."""

    streams: Streams
    budget: int
    owed: Owed
    live: list[Month]
    settled: list[Month]
    truth: list[Month]  # by Spark's own batch join
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether live and reconciled results are those of Spark's batch join, as a multiset."""
        return self.settled == self.truth

    def recall(self, found: list[Month]) -> float:
        """Return the share of all results."""
        return sum(each.count for each in found) / sum(each.count for each in self.truth)


def run_archive(doing: Callable[[str], None], months: int = 12) -> ArchiveDemo:
    """Join the first months with an archive, reconcile, and compare with Spark's batch join."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        folder = Path(name)
        doing("reading the flights")
        streams = write_streams(folder, months, PARTS)
        doing("starting Spark")
        with quiet_session(folder / "spark.log", **SHORT) as spark:
            return deliver(spark, streams, doing, began)


def deliver(
    spark: Any, streams: Streams, doing: Callable[[str], None], began: float
) -> ArchiveDemo:
    """Join live in a tenth of the memory, then find the rest."""
    window = microseconds(WITHIN, "within")
    budget = int(streams.rows * window / streams.span * SHARE)
    archive, results = streams.folder / "archive", streams.folder / "results"
    doing(f"joining with {POLICY} and an archive")
    query = _start(spark, streams, budget, archive, results)
    query.awaitTermination()
    told = metrics(query)
    assert isinstance(told, Metrics)  # flights are never so few that there is no micro-batch
    due = owed(spark, archive, told)
    doing("reconciling")
    reconcile(spark, archive)
    doing("counting, and joining everything with Spark's own batch join")
    live = _by_month(spark.read.parquet(str(results)))
    after, truth = _by_month(settled(spark, archive)), _by_month(_exact(spark, streams, window))
    return ArchiveDemo(streams, budget, due, live, after, truth, time.perf_counter() - began)


def _start(spark: Any, streams: Streams, budget: int, archive: Path, results: Path) -> Any:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    left, right = (reader.parquet(str(streams.folder / name)) for name in (DEPARTURES, LANDINGS))
    joined = join(
        left,
        right,
        ON,
        time="at",
        within=WITHIN,
        delay=DELAY,
        budget=budget,
        policy=POLICY,
        recall_sample=SAMPLE,
        archive=archive,
    )
    checkpoint = streams.folder / "checkpoint"
    return write(joined, results=results, checkpoint=checkpoint, availableNow=True)


def _exact(spark: Any, streams: Streams, window: int) -> Any:
    """Return all results; time is cut into cells, as in `joins.count_all`."""
    reader = spark.read.schema(SCHEMA)
    left, right = (reader.parquet(str(streams.folder / name)) for name in (DEPARTURES, LANDINGS))
    cell = F.floor(F.unix_micros("at") / window)
    left = left.withColumn("cell", F.explode(F.array(cell - 1, cell, cell + 1))).alias("a")
    right = right.withColumn("cell", cell).alias("b")
    same = [F.col(f"a.{name}") == F.col(f"b.{name}") for name in (*ON, "cell")]
    near = F.abs(F.unix_micros("a.at") - F.unix_micros("b.at")) <= window
    sides = [
        F.col(f"{a}.{n}").alias(f"{n}_{side}")
        for a, side in (("a", "left"), ("b", "right"))
        for n in ("flight", "at")
    ]
    return left.join(right, [*same, near]).select(*(F.col(f"a.{name}") for name in ON), *sides)


def _by_month(results: Any) -> list[Month]:
    names = [*ON, *(f"{name}_{side}" for side in ("left", "right") for name in ("flight", "at"))]
    month = F.date_format(F.col("at_left"), "yyyy-MM").alias("month")
    checksum = F.sum(F.xxhash64(*names).cast("decimal(38,0)")).alias("checksum")
    rows = results.groupBy(month).agg(F.count("*").alias("count"), checksum).collect()
    return sorted((Month(r[0], r[1], int(r[2])) for r in rows), key=lambda each: each.month)


def table(made: ArchiveDemo) -> Table:
    """Return what was found live and later, month by month."""
    table = Table(box=box.SIMPLE_HEAD, title="Found live in a tenth of the memory, and later")
    for head in ("month", "results", "live", "after reconcile"):
        table.add_column(head, justify="left" if head == "month" else "right")
    live = {each.month: each.count for each in made.live}
    after = {each.month: each.count for each in made.settled}
    for each in made.truth:
        shares = [found.get(each.month, 0) / each.count for found in (live, after)]
        table.add_row(each.month, f"{each.count:,}", *(f"{share:.1%}" for share in shares))
    return table


def moral(made: ArchiveDemo) -> str:
    """Say in words what was shown."""
    verdict = (
        "equal those of Spark's batch join" if made.is_exact else "DIFFER from Spark's batch join"
    )
    due = made.owed
    told = ""
    if due.pairs is not None and due.pairs_low is not None and due.pairs_high is not None:
        interval = f"{due.pairs_low:,.0f} to {due.pairs_high:,.0f}"
        told = f" It told that some {due.pairs:,.0f} results were missing ({interval})."
    return (
        f"\nHolding {made.budget:,} rows, a tenth of those alive at a time, the join found "
        f"{made.recall(made.live):.1%} of the results live.{told} The archive had {due.rows:,} "
        f"rows in {due.bytes / 1e6:.1f} MB. Live and reconciled results are "
        f"{made.recall(made.settled):.1%} of all and, month by month, {verdict}."
    )


def summarise(made: ArchiveDemo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "rows": made.streams.rows,
        "budget": made.budget,
        "live": sum(each.count for each in made.live),
        "reconciled": sum(each.count for each in made.settled),
        "full": sum(each.count for each in made.truth),
        "exact": made.is_exact,
        "archived_rows": made.owed.rows,
        "archived_bytes": made.owed.bytes,
        "missing_estimated": [made.owed.pairs_low, made.owed.pairs, made.owed.pairs_high],
        "seconds": round(made.seconds, 1),
        "picture": str(picture),
    }


def draw(made: ArchiveDemo, path: Path) -> None:
    """Draw what was found live and later over the months."""
    from matplotlib.figure import Figure  # here, because it takes a second to import
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    live = {each.month: each.count for each in made.live}
    after = {each.month: each.count for each in made.settled}
    months = [each.month for each in made.truth]
    now = [live.get(each.month, 0) / each.count for each in made.truth]
    later = [after.get(each.month, 0) / each.count for each in made.truth]
    axes.bar(months, later, color=LATER, label="after reconcile")
    axes.bar(months, now, color=LIVE, label="live, in a tenth of the memory")
    for month, share in zip(months, now, strict=True):
        axes.annotate(f"{share:.0%}", (month, share), ha="center", va="bottom", color=INK, size=9)
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_ylabel("share of all results", color=GREY)
    axes.tick_params(axis="x", rotation=45, length=0)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", frameon=False, fontsize=9, ncols=2)
    figure.suptitle("Found live, and delivered later", x=0.015, ha="left", size=14, weight="bold")
    figure.savefig(path, dpi=150)
