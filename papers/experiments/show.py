"""Experiments and verdicts as tables for the terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from .frame import FAILS, HOLDS, IN_PART, Experiment
from .lab import Progress
from .runner import Outcome, missing_data

COLOURS = {HOLDS: "green", IN_PART: "yellow", FAILS: "red"}


def listing(experiments: Iterable[Experiment]) -> Table:
    """Return the table of what can be reproduced."""
    table = Table(
        title="python -m papers reproduce NAME, or a paper's name, or all", title_justify="left"
    )
    for column in ("name", "paper", "figure", "what", "data"):
        table.add_column(column)
    for each in experiments:
        missing = missing_data(each)
        data = "missing" if missing else "real" if each.needs else ""
        table.add_row(each.name, each.paper, each.figure, each.what, data)
    return table


def verdicts(outcome: Outcome) -> Text:
    """Return what became of an experiment's claims."""
    each = outcome.experiment
    said = Text(f"{each.name}: {each.paper}, {each.figure}, {each.what}", style="bold")
    if outcome.missing:
        files = ", ".join(outcome.missing)
        said.append(f"\n  skipped: it needs {files} in the folder PENSTOCK_DATA", style="dim")
        return said
    said.append(f" ({outcome.seconds:.1f} s)", style="dim")
    for claim, verdict, ours in outcome.verdicts:
        said.append(f"\n  {verdict}", style=COLOURS[verdict])
        said.append(f": {claim} ({ours})", style="not bold")
    return said


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return the same as plain values, for --json."""
    return {
        "experiments": [
            {
                "name": each.experiment.name,
                "paper": each.experiment.paper,
                "figure": each.experiment.figure,
                "seconds": round(each.seconds, 2),
                "missing": list(each.missing),
                "verdicts": [verdict._asdict() for verdict in each.verdicts],
            }
            for each in outcomes
        ]
    }


@contextmanager
def following(total: int) -> Iterator[Callable[[str], Progress]]:
    """Show a bar on standard error, if that is a terminal; what is yielded starts an experiment."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    quiet = not sys.stderr.isatty()
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, disable=quiet) as bars:
        whole = bars.add_task("experiments", total=total)
        part = bars.add_task("")

        def start(name: str, done: int) -> Progress:
            bars.update(whole, completed=done)
            bars.reset(part, description=name)
            return lambda now, of: bars.update(part, completed=now, total=of)

        numbers = iter(range(total))
        yield lambda name: start(name, next(numbers))
