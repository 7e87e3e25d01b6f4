"""Advice for the terminal."""

from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from .advice import Advice
from .words import WHAT, doubts, facts, headline

COLUMNS = 7  # memories shown


def overview(made: Advice) -> list[Any]:
    """Return the answer, the curves as a table, and what they rest on."""
    parts: list[Any] = [Text(headline(made), style="bold")]
    parts += [Text(f"Beware: {each}", style="yellow") for each in doubts(made)]
    parts.append(Text("\n" + made.code + "\n", style="cyan"))
    return [*parts, _curves(made), _facts(made)]


def _curves(made: Advice) -> Table:
    table = Table(title=f"{WHAT[made.streams.problem]} by rows held", title_justify="left")
    table.add_column("policy", no_wrap=True)
    rows = made.curves[-1].rows
    places = np.unique(np.linspace(0, len(rows) - 1, COLUMNS).round().astype(int))
    for place in places:
        table.add_column(f"{rows[place]:,}", justify="right", no_wrap=True)
    for curve in made.curves:
        cells = [f"{curve.at(int(rows[place])).share:.1%}" for place in places]
        table.add_row(curve.policy, *cells, style="green" if curve is made.best else "")
    return table


def _facts(made: Advice) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for what, value in facts(made):
        table.add_row(Text(what, style="dim"), Text(value))
    return table
