"""One source's value inside its interval, as figures 4 and 5 of the precision paper show it."""

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ...extras import need
from .run import BY_HAND, STATION, Case, Demo, Run
from .words import width_of

NAME = "value-and-interval.png"
BAND, EDGE, INK, LEFT, ASKED = "#cfe2f6", "#7fb0e6", "#1d1d1f", "#c5352b", "#e0a100"


def draw(made: Demo, path: Path) -> None:
    """Draw a row for each precision: our rule, and the width set by hand beside it."""
    figure = need("matplotlib.figure", "a picture").Figure(figsize=(11, 6.4), layout="constrained")
    grid = figure.subplots(len(made.cases), 2, sharex=True, sharey="row")
    for row, case in zip(grid, made.cases, strict=True):
        for axes, run in zip(row, (case.ours, case.by_hand), strict=True):
            _draw_run(axes, made, run)
            _title(axes, made, case, run)
        row[0].set_ylabel("°C")
        _limit(row[0], case)
    figure.suptitle(
        f"What a cache knows of the temperature at {STATION}: an interval, not a point",
        x=0.01,
        ha="left",
        size=14,
        weight="bold",
    )
    handles, labels = grid[0][1].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower left", ncols=len(labels), frameon=False, fontsize=9
    )
    figure.savefig(path, dpi=150)


def _draw_run(axes: Any, made: Demo, run: Run) -> None:
    from matplotlib.dates import DateFormatter, DayLocator

    track = run.track
    when: list[datetime] = [made.weather.date(float(hour)) for hour in track.hour]
    axes.fill_between(
        when, track.low, track.high, step="post", color=BAND, label="interval held in the cache"
    )
    for edge in (track.low, track.high):
        axes.step(when, edge, where="post", color=EDGE, linewidth=0.8)
    axes.step(
        when, track.value, where="post", color=INK, linewidth=1.2, label="reading, every hour"
    )
    times = np.array(when)
    for chosen, colour, mark, label in (
        (track.sent & ~track.asked, LEFT, "^", "it had left the interval: 1 message"),
        (track.asked, ASKED, "o", "a query needed it more precisely: 2 messages"),
    ):
        axes.plot(times[chosen], track.value[chosen], mark, color=colour, markersize=4, label=label)
    axes.xaxis.set_major_locator(DayLocator())
    axes.xaxis.set_major_formatter(DateFormatter("%-d %b"))
    axes.spines[["top", "right"]].set_visible(False)


def _title(axes: Any, made: Demo, case: Case, run: Run) -> None:
    whose = "Width found by itself" if run is case.ours else f"{width_of(BY_HAND)} set by hand"
    axes.set_title(
        f"{whose}; average wanted within ±{case.delta / 2:g} °C\n"
        f"{run.messages:,} messages for {made.readings:,} readings of three airports",
        loc="left",
        size=10,
        color=INK,
    )


def _limit(axes: Any, case: Case) -> None:
    """Show all readings, and as much of very wide intervals as leaves the readings visible."""
    values = case.ours.track.value
    room = 0.6 * float(np.ptp(values))
    tracks = (case.ours.track, case.by_hand.track)
    low = min(float(track.low.min()) for track in tracks)
    high = max(float(track.high.max()) for track in tracks)
    axes.set_ylim(
        max(low, float(values.min()) - room) - 0.5, min(high, float(values.max()) + room) + 0.5
    )
