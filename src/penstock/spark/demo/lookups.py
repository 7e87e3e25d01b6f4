"""Events that get their rows from a database: the plane of every flight, from a table in SQLite."""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from rich.table import Table

from ...extras import nycflights_folder
from ...relations import Relation
from ...terminal import figures_table
from ..lookup import lookup
from ..metrics import LookupMetrics, metrics
from ..quiet import telling
from .flights import LOOK, read_flights, speed, staged, start, stream, write_parts

NAME = None  # there is no picture
POLICIES = ("wtinylfu", "lru", "fifo")
SHARE = 1 / 3  # of the table is cached
PARTS = 24  # micro-batches, of half a month each
SCHEMA = "tailnum string, carrier string, flight long"
TABLE = "planes"
COLUMNS = ("tailnum", "year", "manufacturer", "model", "seats")


class Flights(NamedTuple):
    """The events as files, one for every micro-batch, and the database."""

    folder: Path
    database: Path
    events: int
    planes: int  # rows of the table
    parts: int


def write_flights(folder: Path, months: int, parts: int = PARTS) -> Flights:
    """Write the flights of the first months in the order of their departures, and the planes."""
    flights = read_flights(months).sort_by([("time_hour", "ascending")])
    tail = flights["tailnum"]
    tail = pc.if_else(pc.is_in(tail, pa.array(["", "NA"])), pa.scalar(None, tail.type), tail)
    rows = flights.select(["carrier", "flight"]).add_column(0, "tailnum", tail)
    ends = np.linspace(0, rows.num_rows, parts + 1).round().astype(int).tolist()
    write_parts(folder / "events", rows, ends)
    database = folder / "planes.db"
    return Flights(folder / "events", database, rows.num_rows, _write_planes(database), parts)


def _write_planes(path: Path) -> int:
    planes = csv.read_csv(nycflights_folder() / "planes.csv").select(list(COLUMNS)).to_pylist()
    with sqlite3.connect(path) as database:
        database.execute(
            f"CREATE TABLE {TABLE} (tailnum TEXT PRIMARY KEY, year TEXT, manufacturer TEXT, "
            "model TEXT, seats INTEGER)"
        )
        places = ", ".join(["?"] * len(COLUMNS))
        values = [tuple(plane[name] for name in COLUMNS) for plane in planes]
        database.executemany(f"INSERT INTO {TABLE} VALUES ({places})", values)
    database.close()
    return len(planes)


@dataclass(frozen=True)
class LookupRun:
    """How one enrichment ended."""

    policy: str
    seconds: float
    events_per_second: float
    metrics: LookupMetrics


@dataclass(frozen=True)
class LookupDemo:
    """What the demonstration found."""

    flights: Flights
    memory: int  # rows that may be cached
    runs: list[LookupRun]
    seconds: float  # for everything, the start of Spark included

    @property
    def best(self) -> LookupRun:
        """Return the run that fetched the fewest rows."""
        return min(self.runs, key=lambda run: run.metrics.rows_fetched)


def run_demo(months: int) -> LookupDemo:
    """Give the flights of the first months their planes, with one policy after the other."""
    began = time.perf_counter()
    what = "reading the flights, and writing the planes to a database"
    write = partial(write_flights, months=months)
    with telling() as doing, staged(doing, what, write) as (spark, flights):
        return compare_lookups(spark, flights, doing, began)


def compare_lookups(
    spark: Any, flights: Flights, doing: Callable[[str], None], began: float
) -> LookupDemo:
    """Enrich the events with each policy."""
    memory = round(flights.planes * SHARE)
    runs = []
    for policy in POLICIES:
        doing(f"looking up with {policy}")
        runs.append(_run(spark, flights, policy, memory))
    return LookupDemo(flights, memory, runs, time.perf_counter() - began)


def _run(spark: Any, flights: Flights, policy: str, memory: int) -> LookupRun:
    began = time.perf_counter()
    events = stream(spark, flights.folder, SCHEMA)
    relation = Relation(f"sqlite:///{flights.database}", table=TABLE)
    found = lookup(events, relation, "tailnum", budget=memory, policy=policy)
    query = start(found, flights.folder.parent / f"checkpoint-{policy}")
    query.awaitTermination()
    told = metrics(query)
    assert isinstance(told, LookupMetrics)  # flights are never so few that there is no micro-batch
    return LookupRun(policy, time.perf_counter() - began, speed(query), told)


TITLE = "Looked up live on Spark: the plane of every flight, from a table in SQLite"
HEADS = (
    "policy",
    "events\nper s",
    "rows\nheld",
    "rows\ncached",
    "queries\nsent",
    "rows\nfetched",
    "without\na plane",
    "99 % not\nolder than",
)
COUNTED = ("hits", "misses", "known_missing", "null_keys", "found", "calls", "rows_fetched")


def table(made: LookupDemo) -> Table:
    """Return the table of all runs, the best one marked."""
    shown = figures_table(TITLE, HEADS, **LOOK)
    for run in made.runs:
        figures = run.metrics
        shown.add_row(
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
    return shown


def moral(made: LookupDemo) -> str:
    """Say in words what the run showed."""
    figures = made.best.metrics
    return (
        f"\n{made.flights.events:,} flights, a table of {made.flights.planes:,} planes, a cache of "
        f"{made.memory:,}. Asked row by row, the database would have answered "
        f"{figures.events - figures.null_keys:,} queries; with {made.best.policy} it answered "
        f"{figures.calls:,} and sent {figures.rows_fetched:,} rows. {figures.unfound:,} flights "
        "have a plane that the table lacks, which a count of rows does not show."
    )


def summarise(made: LookupDemo, picture: None = None) -> dict[str, Any]:
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
                **{name: getattr(run.metrics, name) for name in COUNTED},
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
