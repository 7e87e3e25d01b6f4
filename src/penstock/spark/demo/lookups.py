"""Events that get their rows from a database: the plane of every flight, from a table in SQLite."""

import sqlite3
import time
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
from . import flights
from .flights import Doing, Report

NAME = None  # there is no picture
POLICIES = ("wtinylfu", "lru", "fifo")
SHARE = 1 / 3  # of the table is cached
PARTS = 24  # micro-batches, of half a month each
SCHEMA = "tailnum string, carrier string, flight long"
TABLE = "planes"
COLUMNS = ("tailnum", "year", "manufacturer", "model", "seats")


class EventFiles(NamedTuple):
    """The events as files, one for every micro-batch, and the database."""

    folder: Path
    database: Path
    events: int
    planes: int  # rows of the table
    parts: int


def write_flights(folder: Path, months: int, parts: int = PARTS) -> EventFiles:
    """Write the flights of the first months in the order of their departures, and the planes."""
    flown = flights.read_flights(months).sort_by([("time_hour", "ascending")])
    tail = flown["tailnum"]
    tail = pc.if_else(pc.is_in(tail, pa.array(["", "NA"])), pa.scalar(None, tail.type), tail)
    rows = flown.select(["carrier", "flight"]).add_column(0, "tailnum", tail)
    ends = np.linspace(0, rows.num_rows, parts + 1).round().astype(int).tolist()
    flights.write_parts(folder / "events", rows, ends)
    database = folder / "planes.db"
    return EventFiles(folder / "events", database, rows.num_rows, _write_planes(database), parts)


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


def run_demo(months: int) -> Report:
    """Give the flights of the first months their planes, with one policy after the other."""
    what = "reading the flights, and writing the planes to a database"
    return flights.show_live(what, partial(write_flights, months=months), compare)


def compare(spark: Any, found: EventFiles, doing: Doing) -> Report:
    """Enrich the events with each policy."""
    memory = round(found.planes * SHARE)
    runs = []
    for policy in POLICIES:
        doing(f"looking up with {policy}")
        runs.append(_run(spark, found, policy, memory))
    return {
        "events": found.events,
        "relation": found.planes,
        "batches": found.parts,
        "memory": memory,
        "policies": runs,
    }


def _run(spark: Any, found: EventFiles, policy: str, memory: int) -> dict[str, Any]:
    began = time.perf_counter()
    events = flights.stream(spark, found.folder, SCHEMA)
    relation = Relation(f"sqlite:///{found.database}", table=TABLE)
    rows = lookup(events, relation, "tailnum", budget=memory, policy=policy)
    query = flights.run(flights.discarding(rows, found.folder.parent / f"checkpoint-{policy}"))
    told = metrics(query)
    assert isinstance(told, LookupMetrics)  # flights are never so few that there is no micro-batch
    return {
        "policy": policy,
        "events_per_second": round(flights.speed(query)),
        **{name: getattr(told, name) for name in COUNTED},
        "held": told.rows_held,
        "staleness": {"p50": told.staleness_p50, "p99": told.staleness_p99},
        "seconds": round(time.perf_counter() - began, 1),
    }


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


def best(report: Report) -> dict[str, Any]:
    """Return the run that fetched the fewest rows."""
    return min(report["policies"], key=lambda run: run["rows_fetched"])


def unfound(report: Report, run: dict[str, Any]) -> int:
    """Return how many events with a key were given no row."""
    return report["events"] - run["null_keys"] - run["found"]


def table(report: Report) -> Table:
    """Return the table of all runs, the best one marked."""
    shown = figures_table(TITLE, HEADS, **flights.LOOK)
    for run in report["policies"]:
        shown.add_row(
            run["policy"],
            f"{run['events_per_second']:,}",
            f"{run['held']:,}",
            f"{run['hits'] / max(1, report['events'] - run['null_keys']):.1%}",
            f"{run['calls']:,}",
            f"{run['rows_fetched']:,}",
            f"{unfound(report, run):,}",
            f"{run['staleness']['p99'] or 0:.0f} s",
            style="bold green" if run is best(report) else "",
        )
    return shown


def moral(report: Report) -> str:
    """Say in words what the run showed."""
    top = best(report)
    return (
        f"\n{report['events']:,} flights, a table of {report['relation']:,} planes, a cache of "
        f"{report['memory']:,}. Asked row by row, the database would have answered "
        f"{report['events'] - top['null_keys']:,} queries; with {top['policy']} it answered "
        f"{top['calls']:,} and sent {top['rows_fetched']:,} rows. {unfound(report, top):,} flights "
        "have a plane that the table lacks, which a count of rows does not show."
    )
