"""The value of one airport inside its interval: on a terminal, hour by hour, and as a picture.

The picture is in the likeness of figures 4 and 5 of the precision paper.
"""

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ..extras import need
from .weather_demo import BY_HAND, STATION, Case, RuleRun, Track, WeatherDemo, width_of

NAME = "value-and-interval.png"
BACKGROUND, EDGE, INK, LEFT, FETCHED = "#cfe2f6", "#7fb0e6", "#1d1d1f", "#c5352b", "#e0a100"
ROWS = 11  # of the drawing on a terminal
HOURS = 64  # shown at a time; each takes a column
PAUSE = 0.06  # seconds from hour to hour
BAND, VALUE, SENT, ASKED = "░", "●", "▲", "?"


def play(made: WeatherDemo) -> None:
    """Draw the intervals hour by hour, if standard error is a terminal."""
    console = Console(file=os.fdopen(os.dup(2), "w"))
    if not console.is_terminal:
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for end in range(1, len(made.cases[0].ours.track.when) + 1):
            live.update(still(made, end), refresh=True)
            time.sleep(PAUSE)


def still(made: WeatherDemo, end: int | None = None) -> Group:
    """Return the drawing after so many hours, by default after all of them."""
    when = made.cases[0].ours.track.when
    days = f"{when[0]:%-d %B} to {when[-1]:%-d %B %Y}"
    title = Text(f"The cached interval of the temperature at {STATION}, {days}", "bold")
    legend = Text(
        f"one column per hour; the last {HOURS} are shown, and all of these days are counted\n"
        f"{VALUE} the reading of an hour    {BAND} the interval held in the cache\n"
        f"{SENT} the reading had left it: 1 message\n"
        f"{ASKED} a query needed it more precisely: 2 messages",
        "dim",
    )
    end = len(when) if end is None else end
    return Group(title, legend, *(part for case in made.cases for part in _draw_case(case, end)))


def _draw_case(case: Case, end: int) -> list[Text]:
    """Draw the readings and the intervals of one precision, warm above cold, and the messages."""
    whole = case.ours.track
    shown = Track(*(column[max(0, end - HOURS) : end] for column in whole))
    head = Text(f"\nAverage of three airports within {case.wanted}: ")
    sent, asked = int(whole.sent[:end].sum()), int(whole.asked[:end].sum())
    head.append(f"{end} readings, {sent} sent, {asked} asked", "bold")
    low = float(min(whole.value.min(), np.maximum(whole.low, whole.value.min() - 4).min()))
    high = float(max(whole.value.max(), np.minimum(whole.high, whole.value.max() + 4).max()))
    lines = [head]
    for row, (top, bottom) in enumerate(pairwise(np.linspace(high, low, ROWS + 1))):
        line = Text(f"{(top + bottom) / 2:6.1f} °C " if row % 2 == 0 else " " * 10, "dim")
        for value, least, most in zip(shown.value, shown.low, shown.high, strict=True):
            here = bottom <= value < top or (row == 0 and value == top)
            held = most > bottom and least < top
            line.append(VALUE if here else BAND if held else " ", "bold" if here else "cyan")
        lines.append(line)
    marks = Text(" " * 10)
    for sent, asked in zip(shown.sent, shown.asked, strict=True):
        marks.append(ASKED if asked else SENT if sent else " ", "yellow" if asked else "red")
    return [*lines, marks]


def draw(made: WeatherDemo, path: Path) -> None:
    """Draw a row for each precision: our rule, and beside it the width set by hand."""
    figure = need("matplotlib.figure", "a picture").Figure(figsize=(11, 6.4), layout="constrained")
    grid = figure.subplots(len(made.cases), 2, sharex=True, sharey="row")
    for row, case in zip(grid, made.cases, strict=True):
        for axes, run in zip(row, (case.ours, case.by_hand), strict=True):
            _draw_run(axes, run.track)
            whose = "Width chosen by the rule"
            whose = whose if run is case.ours else f"{width_of(BY_HAND)} set by hand"
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
