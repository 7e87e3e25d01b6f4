"""Advice for the terminal."""

from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from .advice import Advice
from .curves import Curve
from .words import MEASURES, WHAT, both, doubts, facts, few_keys, headline

COLUMNS = 7  # memories shown


def overview(made: Advice) -> list[Any]:
    """Return the answer, the curves as a table, and what they rest on."""
    parts: list[Any] = [Text(headline(made), style="bold")]
    parts += [Text(each) for each in (both(made), few_keys(made)) if each]
    parts += [Text(f"Beware: {each}", style="yellow") for each in doubts(made)]
    parts.append(Text("\n" + made.code + "\n", style="cyan"))
    return [*parts, *_tables(made), _facts(made)]


def _tables(made: Advice) -> list[Table]:
    """Return a table of what is measured: of a join two, the goal's first."""
    measures = made.measures(made.best)
    if not measures:
        return [_curves(made, made.curves, f"{WHAT[made.streams.problem]} by rows held")]
    names = sorted(measures, key=lambda name: measures[name] is not made.best)
    return [
        _curves(
            made,
            [made.measures(curve)[name] for curve in made.curves],
            "{}, {}, by rows held".format(*MEASURES[name]),
        )
        for name in names
    ]


def _curves(made: Advice, curves: list[Curve], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("policy", no_wrap=True)
    # The first two have many points about the target.
    rows = max((each.rows for each in reversed(made.curves[2:] or made.curves)), key=len)
    places = np.unique(np.linspace(0, len(rows) - 1, COLUMNS).round().astype(int))
    for place in places:
        table.add_column(f"{rows[place]:,}", justify="right", no_wrap=True)
    for number, curve in enumerate(curves):
        cells = [f"{curve.at(int(rows[place])).share:.1%}" for place in places]
        table.add_row(curve.policy, *cells, style="green" if number == 0 else "")
    return table


def _facts(made: Advice) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for what, value in facts(made):
        table.add_row(Text(what, style="dim"), Text(value))
    return table
