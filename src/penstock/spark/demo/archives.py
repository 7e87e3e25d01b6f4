"""Two real streams joined in a tenth of the memory, and what was missed delivered later."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.table import Table

from ...terminal import figures_table
from ..archive import write
from ..metrics import Metrics, metrics
from ..quiet import telling
from ..reconcile import Owed, owed, reconcile, settled
from .flights import (
    GREY,
    INK,
    LOOK,
    ON,
    FlightStreams,
    exact,
    joined,
    picture,
    staged,
    write_streams,
)

NAME = "live-and-reconciled.png"
POLICY = "prob"
LIVE, LATER = "#7fb0e6", "#b5d99c"


@dataclass(frozen=True)
class Month:
    """The results whose departure is in one month: how many, and a sum of their hashes."""

    month: str
    count: int
    checksum: int


@dataclass(frozen=True)
class ArchiveDemo:
    """What the demonstration found."""

    streams: FlightStreams
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
        return total(found) / total(self.truth)

    def shares(self, found: list[Month]) -> list[float]:
        """Return the share of the results of each month."""
        counts = {each.month: each.count for each in found}
        return [counts.get(each.month, 0) / each.count for each in self.truth]


def total(months: list[Month]) -> int:
    """Return the results of all months."""
    return sum(each.count for each in months)


def run_demo(months: int) -> ArchiveDemo:
    """Join the first months with an archive, reconcile, and compare with Spark's batch join."""
    began = time.perf_counter()
    write = partial(write_streams, months=months)
    with telling() as doing, staged(doing, "reading the flights", write) as (spark, streams):
        return deliver(spark, streams, doing, began)


def deliver(
    spark: Any, streams: FlightStreams, doing: Callable[[str], None], began: float
) -> ArchiveDemo:
    """Join live in a tenth of the memory, then find the rest."""
    archive, results = streams.folder / "archive", streams.folder / "results"
    doing(f"joining with {POLICY} and an archive")
    checkpoint = streams.folder / "checkpoint"
    live_results = joined(spark, streams, POLICY, archive)
    query = write(live_results, results=results, checkpoint=checkpoint, availableNow=True)
    query.awaitTermination()
    told = metrics(query)
    assert isinstance(told, Metrics)  # flights are never so few that there is no micro-batch
    due = owed(spark, archive, told)
    doing("reconciling")
    reconcile(spark, archive)
    doing("counting, and joining everything with Spark's own batch join")
    live = _by_month(spark.read.parquet(str(results)))
    after, truth = _by_month(settled(spark, archive)), _by_month(_named(exact(spark, streams)))
    return ArchiveDemo(streams, due, live, after, truth, time.perf_counter() - began)


def _named(results: DataFrame) -> DataFrame:
    """Return exact results with the columns of a join."""
    sides = [
        F.col(f"{side}.{name}").alias(f"{name}_{side}")
        for side in ("left", "right")
        for name in ("flight", "at")
    ]
    return results.select(*(F.col(f"left.{name}") for name in ON), *sides)


def _by_month(results: DataFrame) -> list[Month]:
    names = [*ON, *(f"{name}_{side}" for side in ("left", "right") for name in ("flight", "at"))]
    month = F.date_format(F.col("at_left"), "yyyy-MM").alias("month")
    checksum = F.sum(F.xxhash64(*names).cast("decimal(38,0)")).alias("checksum")
    rows = results.groupBy(month).agg(F.count("*").alias("count"), checksum).collect()
    return sorted((Month(r[0], r[1], int(r[2])) for r in rows), key=lambda each: each.month)


def table(made: ArchiveDemo) -> Table:
    """Return what was found live and later, month by month."""
    heads = ("month", "results", "live", "after reconcile")
    shown = figures_table("Found live in a tenth of the memory, and later", heads, **LOOK)
    shares = zip(made.shares(made.live), made.shares(made.settled), strict=True)
    for each, found in zip(made.truth, shares, strict=True):
        shown.add_row(each.month, f"{each.count:,}", *(f"{share:.1%}" for share in found))
    return shown


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
        f"\nHolding {made.streams.budget:,} rows, a tenth of those alive at a time, the join found "
        f"{made.recall(made.live):.1%} of the results live.{told} The archive had {due.rows:,} "
        f"rows in {due.bytes / 1e6:.1f} MB. Live and reconciled results are "
        f"{made.recall(made.settled):.1%} of all and, month by month, {verdict}."
    )


def summarise(made: ArchiveDemo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "rows": made.streams.rows,
        "budget": made.streams.budget,
        "live": total(made.live),
        "reconciled": total(made.settled),
        "full": total(made.truth),
        "exact": made.is_exact,
        "archived_rows": made.owed.rows,
        "archived_bytes": made.owed.bytes,
        "missing_estimated": [made.owed.pairs_low, made.owed.pairs, made.owed.pairs_high],
        "seconds": round(made.seconds, 1),
        "picture": str(picture),
    }


def draw(made: ArchiveDemo, path: Path) -> None:
    """Draw what was found live and later over the months."""
    from matplotlib.ticker import PercentFormatter

    months, now = [each.month for each in made.truth], made.shares(made.live)
    with picture(path, "Found live, and delivered later", height=4.2) as axes:
        axes.bar(months, made.shares(made.settled), color=LATER, label="after reconcile")
        axes.bar(months, now, color=LIVE, label="live, in a tenth of the memory")
        for month, share in zip(months, now, strict=True):
            place = {"ha": "center", "va": "bottom", "color": INK, "size": 9}
            axes.annotate(f"{share:.0%}", (month, share), **place)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_ylabel("share of all results", color=GREY)
        axes.tick_params(axis="x", rotation=45, length=0)
