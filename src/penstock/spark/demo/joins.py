"""Two real streams joined live on Spark: the departures and landings of a year.

The join is run with three policies in a tenth of the memory that it needs. What it estimates of
itself while it runs is compared with the truth.
"""

import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from ... import policies
from ...terminal import figures_table
from ..metrics import Metrics, metrics
from ..quiet import telling
from .flights import (
    DELAY,
    DEPARTURES,
    GREY,
    INK,
    LANDINGS,
    LOOK,
    ON,
    SAMPLE,
    WITHIN,
    FlightStreams,
    exact,
    joined,
    picture,
    speed,
    staged,
    start,
    write_streams,
)

POLICIES = ("prob", "rand", "fifo")  # the one that suits these streams, and two that learn nothing
PAUSE = 0.1  # seconds between two looks at a query; a micro-batch takes several of them
TITLE = (
    "Joined live on Spark: flights that leave New York for an airport,\n"
    "and flights of the same airline that land there within 6 hours"
)
HEADS = ("policy", "rows", "share of", "found", "estimate", "its 95 %\ninterval", "truth")
CAPTION = (
    "per s: the median micro-batch; the first join warms Java up\n"
    "evicted: or rejected, while they could still match\n"
    "departures, landings: those that found a partner, of those that have one"
)
COUNTED = ("arrived", "late", "expired", "evicted", "rejected")  # of both streams


class Measure(NamedTuple):
    """What a join tells of one measure while it runs, and the truth."""

    what: str  # pairs, departures or landings
    found: int
    share: float | None  # estimated
    low: float | None
    high: float | None
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth."""
        return (
            self.low is not None and self.high is not None and self.low <= self.truth <= self.high
        )


@dataclass(frozen=True)
class Run:
    """How a join ended."""

    policy: str
    seconds: float  # since the query started
    rows_per_second: float
    most_held: int  # at the end of any micro-batch
    metrics: Metrics

    @property
    def evicted(self) -> int:
        """How many rows were evicted or rejected while they could still match."""
        return sum(self.metrics.evicted) + sum(self.metrics.rejected)


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    streams: FlightStreams
    runs: list[Run]
    full: int  # results that unlimited memory finds
    rows: tuple[int, int]  # departures and landings that have a partner
    seconds: float  # for everything, the start of Spark included

    @property
    def best(self) -> Run:
        """The run that found most results."""
        return max(self.runs, key=self.recall)

    def recall(self, run: Run) -> float:
        """Return the true recall of a run."""
        return run.metrics.matches / self.full

    def measures(self, run: Run) -> list[Measure]:
        """Return what a run told of pairs, of departures and of landings."""
        told = run.metrics
        pairs = told.matches, told.recall, told.recall_low, told.recall_high
        rows = zip(
            told.rows_matched, told.row_recall, told.row_recall_low, told.row_recall_high,
            strict=True,
        )  # fmt: skip
        there = ("pairs", self.full), (DEPARTURES, self.rows[0]), (LANDINGS, self.rows[1])
        return [
            Measure(what, *figures, figures[0] / full)
            for (what, full), figures in zip(there, (pairs, *rows), strict=True)
        ]


def run_demo(months: int) -> Demo:
    """Join the first months of both streams with each policy."""
    began = time.perf_counter()
    write = partial(write_streams, months=months)
    with telling() as doing, staged(doing, "reading the flights", write) as (spark, streams):
        return compare(spark, streams, doing, began)


def compare(spark: Any, streams: FlightStreams, doing: Callable[[str], None], began: float) -> Demo:
    """Join the streams with each policy, and count what there was to find."""
    runs = [_run(spark, streams, policy, doing) for policy in POLICIES]
    doing("counting all results and the rows in them, with Spark's own batch join")
    full = exact(spark, streams).count()
    sides = (DEPARTURES, LANDINGS), (LANDINGS, DEPARTURES)
    left, right = (exact(spark, streams, each, "left_semi").count() for each in sides)
    return Demo(streams, runs, full, (left, right), time.perf_counter() - began)


def _run(spark: Any, streams: FlightStreams, policy: str, doing: Callable[[str], None]) -> Run:
    """Join the streams with one policy to their end, telling of every micro-batch."""
    doing(f"joining with {policy}: the workers start and compile")
    began = time.perf_counter()
    query = start(joined(spark, streams, policy), streams.folder / f"checkpoint-{policy}")
    told: Metrics | None = None
    most_held, ended = 0, False
    while not ended:
        ended = query.awaitTermination(PAUSE)
        latest = metrics(query)
        if isinstance(latest, Metrics) and (told is None or latest.batch > told.batch):
            told, most_held = latest, max(most_held, latest.rows_held)
            batch = min(told.batch + 1, streams.parts)  # the last one brings no rows
            doing(
                f"joining with {policy}: micro-batch {batch} of {streams.parts}, "
                f"{told.matches:,} results, recall about {_share(told.recall)}"
            )
    assert told is not None  # flights are never so few that there is no micro-batch
    return Run(policy, time.perf_counter() - began, speed(query), most_held, told)


def table(made: Demo) -> Table:
    """Return the table of all runs with the truth beside the estimates, the best one marked."""
    shown = figures_table(TITLE, HEADS, CAPTION, **LOOK, pad_edge=False, padding=(0, 1, 0, 0))
    shown.caption_justify = shown.columns[2].justify = "left"
    for run in made.runs:
        measures = made.measures(run)
        rows = (
            f"{run.rows_per_second:,.0f} per s  ",
            f"{run.metrics.rows_held:,} held   ",
            f"{run.evicted:,} evicted",
        )
        columns = (
            rows,
            [each.what for each in measures],
            [f"{each.found:,}" for each in measures],
            [_share(each.share) for each in measures],
            [f"{_share(each.low)}–{_share(each.high)}" for each in measures],
            [_share(each.truth) for each in measures],
        )
        style = "bold green" if run is made.best else ""
        shown.add_row(run.policy, *map("\n".join, columns), style=style)
    return shown


def _share(number: float | None) -> str:
    return "?" if number is None else f"{number:.1%}"


def moral(made: Demo) -> str:
    """Say in words what the run showed, and whether the estimates were right."""
    best, alive, budget = made.best, made.streams.alive, made.streams.budget
    others = [f"with {run.policy} {made.recall(run):.1%}" for run in made.runs if run is not best]
    held = [each.holds for run in made.runs for each in made.measures(run)]
    note = f"\nNote: {best.metrics.note}." if best.metrics.note else ""
    return (
        f"\nSome {alive:,} rows are alive at a time, and the join may hold {budget:,}, "
        f"a tenth. With {best.policy} it found {made.recall(best):.1%} of all {made.full:,} "
        f"results, {' and '.join(others)}: what to keep matters as much as how much.{note}\n"
        f"Of the {len(held)} intervals, made while the joins ran, {sum(held)} hold the truth; "
        "one in twenty may miss it."
    )


def summarise(made: Demo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "streams": [DEPARTURES, LANDINGS],
        "on": list(ON),
        "within": WITHIN,
        "delay": DELAY,
        "rows": made.streams.rows,
        "batches": made.streams.parts,
        "window": made.streams.alive,
        "budget": made.streams.budget,
        "recall_sample": SAMPLE,
        "full": made.full,
        "seconds": round(made.seconds, 1),
        "picture": str(picture),
        "policies": [_summarise_run(made, run) for run in made.runs],
    }


def _summarise_run(made: Demo, run: Run) -> dict[str, Any]:
    figures, measures = run.metrics, made.measures(run)
    pairs, *rows = [
        {"recall": each.share, "low": each.low, "high": each.high, "holds_the_truth": each.holds}
        for each in measures
    ]
    return {
        "policy": run.policy,
        "results": figures.matches,
        "recall": made.recall(run),
        "estimated": pairs,
        "rows_matched": list(figures.rows_matched),
        "row_recall": [each.truth for each in measures[1:]],
        "row_recall_estimated": rows,
        "hot_pairs": figures.hot_pairs,
        "note": figures.note,
        **{name: sum(getattr(figures, name)) for name in COUNTED},
        "held": figures.rows_held,
        "most_held": run.most_held,
        "rows_per_second": round(run.rows_per_second),
        "seconds": round(run.seconds, 1),
    }


# ------------------------------------------------------------ the picture

NAME = "recall-by-policy.png"
BARS = {  # colours and what the bars are
    "#7fb0e6": "results found, of all results",
    "#f2c57c": "departures that found a landing, of those that have one",
    "#b5d99c": "landings that found a departure, of those that have one",
}
HEIGHT = 0.26  # of a bar; each policy has three


def draw(made: Demo, path: Path) -> None:
    """Draw three bars per policy, of pairs and of rows, and on each the estimate."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    title = "What to keep when memory is short: recall by policy"
    with picture(path, title, height=5.6) as axes:
        for number, run in enumerate(made.runs):
            _draw_run(axes, number, made.measures(run))
        axes.set_title(
            "Departures and landings of 2013 joined live on Spark, holding "
            f"{made.streams.budget:,} rows;\nabout {made.streams.alive:,} are alive at a time, and "
            f"there are {made.full:,} results to find",
            loc="left",
            size=10,
            color=GREY,
        )
        axes.set_yticks(range(len(made.runs)), [_name(run) for run in made.runs])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("share found: bars counted afterwards by an exact batch join")
        axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.tick_params(left=False)
        axes.spines["left"].set_visible(False)


def _draw_run(axes: Any, number: int, measures: list[Measure]) -> None:
    """Draw the bars of one policy, and the estimates with their intervals; the first are named."""
    estimate = "estimate made while the join ran, with its 95 % interval" if number == 0 else ""
    for place, (each, (colour, label)) in enumerate(zip(measures, BARS.items(), strict=True)):
        at = number + (place - 1) * (HEIGHT + 0.02)
        axes.barh(at, each.truth, color=colour, height=HEIGHT, label="" if number else label)
        where = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{each.truth:.1%}", (0, at), color=INK, size=10, weight="bold", **where)
        if each.share is not None and each.low is not None and each.high is not None:
            margins = [[each.share - each.low], [each.high - each.share]]
            style = {"fmt": "o", "color": INK, "markersize": 4, "capsize": 4, "elinewidth": 1.3}
            axes.errorbar(each.share, at, xerr=margins, label=estimate, **style)
            estimate = ""


def _name(run: Run) -> str:
    """Return the name of a policy and what it does when memory is full."""
    return f"{run.policy}\n" + textwrap.fill(f"when full, {policies.named(run.policy).summary}", 26)
