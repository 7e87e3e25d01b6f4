"""What the demonstration of lookups shows: what goes on, a table, and what it means."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .lookups import LookupDemo

TITLE = "Looked up live on Spark: the plane of every flight, from a table in SQLite"
HEADS = (
    "events\nper s",
    "rows\nheld",
    "rows\ncached",
    "queries\nsent",
    "rows\nfetched",
    "without\na plane",
    "99 % not\nolder than",
)


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Say on standard error what goes on, if that is a terminal."""
    with os.fdopen(os.dup(2), "w") as file:  # the original is Java's for a moment
        console = Console(file=file, quiet=not file.isatty())
        with console.status("") as status:
            yield status.update


def lookups_table(made: LookupDemo) -> Table:
    """Return the table of all runs, the best one marked."""
    table = Table(title=TITLE, box=box.SIMPLE_HEAD, title_style="bold", title_justify="left")
    table.add_column("policy", no_wrap=True)
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for run in made.runs:
        figures = run.metrics
        table.add_row(
            run.policy,
            f"{run.events_per_second:,.0f}",
            f"{figures.rows_held:,}",
            f"{figures.hit_ratio or 0:.1%}",
            f"{figures.calls:,}",
            f"{figures.rows_fetched:,}",
            f"{figures.unfound:,}",
            f"{figures.staleness_p99 or 0:.0f} s",
            style="bold green" if run is made.best else "",
        )
    return table


def lookups_moral(made: LookupDemo) -> str:
    """Say in words what the run showed."""
    figures = made.best.metrics
    return (
        f"\n{made.flights.events:,} flights, a table of {made.flights.planes:,} planes, a cache of "
        f"{made.memory:,}. Asked row by row, the database would have answered "
        f"{figures.events - figures.null_keys:,} queries; with {made.best.policy} it answered "
        f"{figures.calls:,} and sent {figures.rows_fetched:,} rows. {figures.unfound:,} flights "
        "have a plane that the table does not know, which nobody would notice in a count of rows."
    )


def summarise_lookups(made: LookupDemo) -> dict[str, Any]:
    """Return everything that the demonstration found as plain values."""
    return {
        "events": made.flights.events,
        "relation": made.flights.planes,
        "batches": made.flights.parts,
        "memory": made.memory,
        "seconds": round(made.seconds, 1),
        "policies": [
            {
                "policy": run.policy,
                "events_per_second": round(run.events_per_second),
                "hits": run.metrics.hits,
                "misses": run.metrics.misses,
                "known_missing": run.metrics.known_missing,
                "null_keys": run.metrics.null_keys,
                "found": run.metrics.found,
                "calls": run.metrics.calls,
                "rows_fetched": run.metrics.rows_fetched,
                "held": run.metrics.rows_held,
                "staleness": {
                    "p50": run.metrics.staleness_p50,
                    "p99": run.metrics.staleness_p99,
                },
                "seconds": round(run.seconds, 1),
            }
            for run in made.runs
        ],
    }
