"""Two real streams joined in a tenth of the memory, and what was missed delivered later."""

from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.table import Table

from ...terminal import figures_table
from ..archive.reconcile import owed, reconcile, settled
from ..archive.write import write
from ..metrics import Metrics, metrics
from . import flights
from .flights import Doing, FlightStreams, Report

NAME = "live-and-reconciled.png"
POLICY = "prob"
LEAST = 0.01  # of all results, for a bar
LIVE, LATER = "#7fb0e6", "#b5d99c"
SIDES = [(side, name) for side in ("left", "right") for name in ("flight", "at")]

Months = dict[str, tuple[int, int]]  # by departure: how many results, and a sum of their hashes


def run_demo(months: int) -> Report:
    """Join the first months with an archive, reconcile, and compare with Spark's batch join."""
    write = partial(flights.write_streams, months=months)
    return flights.show_live("reading the flights", write, deliver)


def deliver(spark: Any, streams: FlightStreams, doing: Doing) -> Report:
    """Join live in a tenth of the memory, then find the rest."""
    archive, results = streams.folder / "archive", streams.folder / "results"
    doing(f"joining with {POLICY} and an archive")
    checkpoint = streams.folder / "checkpoint"
    live_results = flights.joined(spark, streams, POLICY, archive)
    start = partial(write, live_results, results=results, checkpoint=checkpoint, availableNow=True)
    query = flights.run(start)
    told = metrics(query)
    assert isinstance(told, Metrics)  # flights are never so few that there is no micro-batch
    due = owed(spark, archive, told)
    doing("reconciling")
    reconcile(spark, archive)
    doing("counting, and joining everything with Spark's own batch join")
    live = _by_month(spark.read.parquet(str(results)))
    after, truth = _by_month(settled(spark, archive)), _by_month(_exact(spark, streams))
    counts = {
        month: [found.get(month, (0, 0))[0] for found in (truth, live, after)] for month in truth
    }
    full, found, reconciled = (sum(column) for column in zip(*counts.values(), strict=True))
    return {
        "rows": streams.rows,
        "budget": streams.budget,
        "live": found,
        "reconciled": reconciled,
        "full": full,
        "exact": after == truth,  # as multisets
        "archived_rows": due.rows,
        "archived_bytes": due.bytes,
        "missing_estimated": [due.pairs_low, due.pairs, due.pairs_high],
        "months": counts,  # of each: all results, those found live, and those after reconcile
    }


def _exact(spark: Any, streams: FlightStreams) -> DataFrame:
    """Return all results, by Spark's own batch join, with the columns of ours."""
    sides = [F.col(f"{side}.{name}").alias(f"{name}_{side}") for side, name in SIDES]
    on = [F.col(f"left.{name}") for name in flights.ON]
    return flights.exact(spark, streams).select(*on, *sides)


def _by_month(results: DataFrame) -> Months:
    names = [*flights.ON, *(f"{name}_{side}" for side, name in SIDES)]
    month = F.date_format(F.col("at_left"), "yyyy-MM").alias("month")
    checksum = F.sum(F.xxhash64(*names).cast("decimal(38,0)")).alias("checksum")
    rows = results.groupBy(month).agg(F.count("*").alias("count"), checksum).collect()
    return {each[0]: (each[1], int(each[2])) for each in sorted(rows)}


def table(report: Report) -> Table:
    """Return what was found live and later, month by month."""
    heads = ("month", "results", "live", "after reconcile")
    title = "Found live in a tenth of the memory, and later"
    shown = figures_table(title, heads, **flights.LOOK)
    for month, (full, *found) in report["months"].items():
        shown.add_row(month, f"{full:,}", *(f"{each / full:.1%}" for each in found))
    return shown


def moral(report: Report) -> str:
    """Say in words what was shown."""
    verdict = "equal those of" if report["exact"] else "DIFFER from"
    low, missing, high = report["missing_estimated"]
    told = ""
    if None not in (low, missing, high):
        told = f" It estimated {missing:,.0f} missing results ({low:,.0f} to {high:,.0f})."
    return (
        f"\nHolding {report['budget']:,} rows, a tenth of those alive at a time, the join found "
        f"{report['live'] / report['full']:.1%} of the results live.{told} The archive had "
        f"{report['archived_rows']:,} rows in {report['archived_bytes'] / 1e6:.1f} MB. Live and "
        f"reconciled results are {report['reconciled'] / report['full']:.1%} of all and, month by "
        f"month, {verdict} Spark's batch join."
    )


def draw(report: Report, path: Path) -> None:
    """Draw what was found live and later over the months."""
    from matplotlib.ticker import PercentFormatter

    # A few flights leave after the last month, by the clock of UTC: no bar of its own for these.
    few = LEAST * report["full"]
    months = {month: each for month, each in report["months"].items() if each[0] >= few}
    now, later = ([each[place] / each[0] for each in months.values()] for place in (1, 2))
    with flights.picture(path, "Found live, and delivered later", height=4.2) as axes:
        axes.bar(list(months), later, color=LATER, label="after reconcile")
        axes.bar(list(months), now, color=LIVE, label="live, in a tenth of the memory")
        for month, share in zip(months, now, strict=True):
            place = {"ha": "center", "va": "bottom", "color": flights.INK, "size": 9}
            axes.annotate(f"{share:.0%}", (month, share), **place)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_ylabel("share of all results", color=flights.GREY)
        axes.tick_params(axis="x", rotation=45, length=0)
