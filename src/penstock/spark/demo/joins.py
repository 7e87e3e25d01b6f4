"""Two real streams joined live on Spark: the departures and landings of a year.

The join is run with three policies in a tenth of the memory that it needs. What it estimates of
itself while it runs is compared with the truth.
"""

import textwrap
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from ... import policies
from ...terminal import figures_table
from ..metrics import Metrics, metrics
from . import flights
from .flights import DEPARTURES, LANDINGS, Doing, FlightStreams, Report

POLICIES = ("prob", "rand", "fifo")  # the one that suits these streams, and two that learn nothing
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
MEASURED = ("pairs", DEPARTURES, LANDINGS)
COUNTED = ("arrived", "late", "expired", "evicted", "rejected")  # of both streams


class Measure(NamedTuple):
    """What a join tells of one measure while it runs, and the truth."""

    what: str  # pairs, departures or landings
    found: int
    told: dict[str, Any]  # the estimate: recall, low and high, or None
    truth: float


def run_demo(months: int) -> Report:
    """Join the first months of both streams with each policy."""
    write = partial(flights.write_streams, months=months)
    return flights.show_live("reading the flights", write, compare)


def compare(spark: Any, streams: FlightStreams, doing: Doing) -> Report:
    """Join the streams with each policy, and count what there was to find."""
    runs = [_run(spark, streams, policy, doing) for policy in POLICIES]
    doing("counting all results and the rows in them, with Spark's own batch join")
    full = flights.exact(spark, streams).count()
    sides = (DEPARTURES, LANDINGS), (LANDINGS, DEPARTURES)
    rows = [flights.exact(spark, streams, each, "left_semi").count() for each in sides]
    return {
        "streams": [DEPARTURES, LANDINGS],
        "on": list(flights.ON),
        "within": flights.WITHIN,
        "delay": flights.DELAY,
        "rows": streams.rows,
        "batches": streams.parts,
        "window": streams.alive,
        "budget": streams.budget,
        "recall_sample": flights.SAMPLE,
        "full": full,
        "policies": [_score(told, full, rows) | beside for told, beside in runs],
    }


def _run(
    spark: Any, streams: FlightStreams, policy: str, doing: Doing
) -> tuple[Metrics, dict[str, Any]]:
    """Join the streams with one policy to their end, telling of every micro-batch."""
    doing(f"joining with {policy}: the workers start and compile")
    began = time.perf_counter()
    results = flights.joined(spark, streams, policy)
    seen: list[Metrics] = []

    def look(query: Any) -> None:
        told = metrics(query)
        if isinstance(told, Metrics) and (not seen or told.batch > seen[-1].batch):
            seen.append(told)
            batch = min(told.batch + 1, streams.parts)  # the last one brings no rows
            doing(
                f"joining with {policy}: micro-batch {batch} of {streams.parts}, "
                f"{told.matches:,} results, recall about {_share(told.recall)}"
            )

    start = flights.discarding(results, streams.folder / f"checkpoint-{policy}")
    query = flights.run(start, look)
    told, most_held = seen[-1], max(each.rows_held for each in seen)
    seconds, speed = round(time.perf_counter() - began, 1), round(flights.speed(query))
    return told, {"most_held": most_held, "rows_per_second": speed, "seconds": seconds}


def _score(told: Metrics, full: int, rows: list[int]) -> dict[str, Any]:
    """Return what a join told of itself, beside how much there was to find."""
    recalls = [found / each for found, each in zip(told.rows_matched, rows, strict=True)]
    pairs = _estimate(told.recall, told.recall_low, told.recall_high, told.matches / full)
    sides = zip(told.row_recall, told.row_recall_low, told.row_recall_high, recalls, strict=True)
    return {
        "policy": told.policy,
        "results": told.matches,
        "recall": told.matches / full,
        "estimated": pairs,
        "rows_matched": list(told.rows_matched),
        "row_recall": recalls,
        "row_recall_estimated": [_estimate(*each) for each in sides],
        "hot_pairs": told.hot_pairs,
        "note": told.note,
        **{name: sum(getattr(told, name)) for name in COUNTED},
        "held": told.rows_held,
    }


def _estimate(recall: float | None, low: float, high: float, truth: float) -> dict[str, Any]:
    holds = low <= truth <= high
    return {"recall": recall, "low": low, "high": high, "holds_the_truth": holds}


def measures(score: dict[str, Any]) -> list[Measure]:
    """Return what a join told of pairs, of departures and of landings."""
    found = score["results"], *score["rows_matched"]
    told = score["estimated"], *score["row_recall_estimated"]
    truth = score["recall"], *score["row_recall"]
    return list(map(Measure, MEASURED, found, told, truth))


def best(report: Report) -> dict[str, Any]:
    """Return the score of the policy that found most results."""
    return max(report["policies"], key=lambda score: score["results"])


def table(report: Report) -> Table:
    """Return the table of all runs with the truth beside the estimates, the best one marked."""
    look = {**flights.LOOK, "pad_edge": False, "padding": (0, 1, 0, 0)}
    shown = figures_table(TITLE, HEADS, CAPTION, **look)
    shown.caption_justify = shown.columns[2].justify = "left"
    for score in report["policies"]:
        each = measures(score)
        columns = (
            (
                f"{score['rows_per_second']:,} per s  ",
                f"{score['held']:,} held   ",
                f"{score['evicted'] + score['rejected']:,} evicted",
            ),
            MEASURED,
            [f"{one.found:,}" for one in each],
            [_share(one.told["recall"]) for one in each],
            [f"{_share(one.told['low'])}–{_share(one.told['high'])}" for one in each],
            [_share(one.truth) for one in each],
        )
        style = "bold green" if score is best(report) else ""
        shown.add_row(score["policy"], *map("\n".join, columns), style=style)
    return shown


def _share(number: float | None) -> str:
    return "?" if number is None else f"{number:.1%}"


def moral(report: Report) -> str:
    """Say in words what the run showed, and whether the estimates were right."""
    top, scores = best(report), report["policies"]
    others = [f"with {each['policy']} {each['recall']:.1%}" for each in scores if each is not top]
    held = [one.told["holds_the_truth"] for each in scores for one in measures(each)]
    note = f"\nNote: {top['note']}." if top["note"] else ""
    return (
        f"\nSome {report['window']:,} rows are alive at a time, and the join may hold "
        f"{report['budget']:,}, a tenth. With {top['policy']} it found {top['recall']:.1%} of all "
        f"{report['full']:,} results, {' and '.join(others)}: what to keep matters as much as how "
        f"much.{note}\nOf the {len(held)} intervals, made while the joins ran, {sum(held)} hold "
        "the truth; one in twenty may miss it."
    )


# ------------------------------------------------------------ the picture

NAME = "recall-by-policy.png"
BARS = {  # colours and what the bars are
    "#7fb0e6": "results found, of all results",
    "#f2c57c": "departures that found a landing, of those that have one",
    "#b5d99c": "landings that found a departure, of those that have one",
}
HEIGHT = 0.26  # of a bar; each policy has three


def draw(report: Report, path: Path) -> None:
    """Draw three bars per policy, of pairs and of rows, and on each the estimate."""
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    title, scores = "What to keep when memory is short: recall by policy", report["policies"]
    with flights.picture(path, title, height=5.6) as axes:
        for number, score in enumerate(scores):
            _draw_run(axes, number, measures(score))
        about = (
            "Departures and landings of 2013 joined live on Spark, holding "
            f"{report['budget']:,} rows;\nabout {report['window']:,} are alive at a time, and "
            f"there are {report['full']:,} results to find"
        )
        axes.set_title(about, loc="left", size=10, color=flights.GREY)
        axes.set_yticks(range(len(scores)), [_name(score["policy"]) for score in scores])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("share found: bars counted afterwards by an exact batch join")
        axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.tick_params(left=False)
        axes.spines["left"].set_visible(False)


def _draw_run(axes: Any, number: int, each: list[Measure]) -> None:
    """Draw the bars of one policy, and the estimates with their intervals; the first are named."""
    ink = flights.INK
    estimate = "estimate made while the join ran, with its 95 % interval" if number == 0 else ""
    for place, (one, (colour, label)) in enumerate(zip(each, BARS.items(), strict=True)):
        at = number + (place - 1) * (HEIGHT + 0.02)
        axes.barh(at, one.truth, color=colour, height=HEIGHT, label="" if number else label)
        where = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{one.truth:.1%}", (0, at), color=ink, size=10, weight="bold", **where)
        share, told = one.told["recall"], one.told
        if share is not None:
            margins = [[share - told["low"]], [told["high"] - share]]
            style = {"fmt": "o", "color": ink, "markersize": 4, "capsize": 4, "elinewidth": 1.3}
            axes.errorbar(share, at, xerr=margins, label=estimate, **style)
            estimate = ""


def _name(policy: str) -> str:
    """Return the name of a policy and what it does when memory is full."""
    return f"{policy}\n" + textwrap.fill(f"when full, {policies.named(policy).summary}", 26)
