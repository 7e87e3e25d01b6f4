"""Flights as events, each of which needs its plane from a table in an embedded database."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from ...extras import nycflights_folder
from .flights import read_flights, write_parts

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


def write_flights(folder: Path, months: int, parts: int) -> Flights:
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
