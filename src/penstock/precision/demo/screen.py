"""The picture on a terminal: it moves from hour to hour, then the last one stays."""

import os
import time
from itertools import pairwise

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from .run import STATION, Case, Demo, Track

ROWS = 11  # of a picture
HOURS = 64  # shown at a time; each takes a column
PAUSE = 0.06  # seconds from hour to hour
BAND, VALUE, SENT, ASKED = "░", "●", "▲", "?"


def play(made: Demo) -> None:
    """Let the days pass, if standard error is a terminal."""
    console = Console(file=os.fdopen(os.dup(2), "w"))
    if not console.is_terminal:
        return
    hours = len(made.cases[0].ours.track.hour)
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for end in range(1, hours + 1):
            live.update(_frame(made, end), refresh=True)
            time.sleep(PAUSE)


def still(made: Demo) -> Group:
    """Return the last picture."""
    return _frame(made, len(made.cases[0].ours.track.hour))


def _frame(made: Demo, end: int) -> Group:
    title = Text(f"What a cache knows of the temperature at {STATION}, {_days(made)}", "bold")
    legend = Text(
        f"a column is an hour; the last {HOURS} are shown, and all of these days are counted\n"
        f"{VALUE} the reading of an hour    {BAND} the interval held in the cache\n"
        f"{SENT} the reading had left it: 1 message\n"
        f"{ASKED} a query needed it more precisely: 2 messages",
        "dim",
    )
    return Group(title, legend, *(part for case in made.cases for part in _part(case, end)))


def _days(made: Demo) -> str:
    hours = made.cases[0].ours.track.hour
    first, last = (made.weather.date(float(hour)) for hour in (hours[0], hours[-1]))
    return f"{first:%-d %B} to {last:%-d %B %Y}"


def _part(case: Case, end: int) -> list[Text]:
    track = Track(*(column[max(0, end - HOURS) : end] for column in case.ours.track))
    whole = case.ours.track
    counts = (
        f"{end} readings, {int(whole.sent[:end].sum())} sent, {int(whole.asked[:end].sum())} asked"
    )
    head = Text(f"\nAverage of three airports within ±{case.delta / 2:g} °C: ")
    head.append(counts, "bold")
    return [head, *_plot(case.ours.track, track), _marks(track)]


def _plot(whole: Track, track: Track) -> list[Text]:
    """Draw the readings and the intervals, warm above cold."""
    low = float(min(whole.value.min(), np.maximum(whole.low, whole.value.min() - 4).min()))
    high = float(max(whole.value.max(), np.minimum(whole.high, whole.value.max() + 4).max()))
    edges = np.linspace(high, low, ROWS + 1)
    lines = []
    for row, (top, bottom) in enumerate(pairwise(edges)):
        line = Text(f"{(top + bottom) / 2:6.1f} °C " if row % 2 == 0 else " " * 10, "dim")
        for value, least, most in zip(track.value, track.low, track.high, strict=True):
            here = bottom <= value < top or (row == 0 and value == top)
            held = most > bottom and least < top
            line.append(VALUE if here else BAND if held else " ", "bold" if here else "cyan")
        lines.append(line)
    return lines


def _marks(track: Track) -> Text:
    marks = Text(" " * 10)
    for sent, asked in zip(track.sent, track.asked, strict=True):
        marks.append(ASKED if asked else SENT if sent else " ", "yellow" if asked else "red")
    return marks
