"""What the demonstrations share: a year of flights as streams, their joins, and the session."""

import os
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich import box

from ...extras import nycflights_folder
from ...kernel.durations import microseconds
from ..join import join
from ..quiet import SHORT, quiet_session, status_line

DEPARTURES, LANDINGS = "departures", "landings"
SCHEMA = "carrier string, dest string, flight long, at timestamp"
MINUTE = 60_000_000  # microseconds
TAXI = 30  # minutes on the ground between leaving and landing; the data has those in the air
ON = ("carrier", "dest")
WITHIN, DELAY = "6 hours", "30 minutes"
WINDOW = microseconds(WITHIN, "within")
SAMPLE = 0.2  # of the rows are watched for the estimate: the window is small
SHARE = 0.1  # of the rows that are alive at a time may be held
PARTS = 12  # micro-batches, of a month each
PAUSE = 0.1  # seconds between two looks at a query; a micro-batch takes several of them
TOO_BUSY, STARTS = "Python worker failed to connect back", 5
INK, GREY = "#1d1d1f", "#5f6368"
LOOK: dict[str, Any] = {"box": box.SIMPLE_HEAD, "title_style": "bold"}  # of tables

Written = TypeVar("Written")
Doing = Callable[[str], None]  # shows what is done next
Report = dict[str, Any]  # plain values, as JSON has them


class FlightStreams(NamedTuple):
    """Two streams as files, one of each for every micro-batch."""

    folder: Path
    rows: int  # of both
    span: int  # from the first row to the last, in microseconds
    parts: int

    @property
    def alive(self) -> int:
        """Rows of both streams that are alive at a time, on average."""
        return round(self.rows * WINDOW / self.span)

    @property
    def budget(self) -> int:
        """Rows that a join may hold."""
        return int(self.alive * SHARE)


def write_streams(folder: Path, months: int, parts: int = PARTS) -> FlightStreams:
    """Write the first months of both streams, each cut at the same moments into so many files."""
    flights = read_flights(months)
    scheduled = pc.cast(flights["time_hour"], pa.timestamp("us", "UTC")).cast(pa.int64())
    leaves = _later(scheduled, pc.add(flights["minute"], flights["dep_delay"]))
    lands = _later(leaves, pc.add(flights["air_time"], TAXI))
    first, last = pc.min(leaves).as_py(), pc.max(lands).as_py()
    cuts = np.linspace(first, last, parts + 1)[1:-1]
    for name, at in ((DEPARTURES, leaves), (LANDINGS, lands)):
        columns = [*flights.select(["carrier", "dest", "flight"]).columns, at]
        rows = pa.table(columns, names=["carrier", "dest", "flight", "at"]).sort_by("at")
        ends = [0, *np.searchsorted(rows["at"].to_numpy(), cuts).tolist(), len(rows)]
        rows = rows.set_column(3, "at", rows["at"].cast(pa.timestamp("us", "UTC")))
        write_parts(folder / name, rows, ends)
    return FlightStreams(folder, 2 * flights.num_rows, last - first, parts)


def read_flights(months: int) -> pa.Table:
    """Return the flights that left and landed; others were cancelled or diverted."""
    path = nycflights_folder() / "flights.csv.zip"
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        table = csv.read_csv(file)
    flew = pc.and_(pc.is_valid(table["dep_delay"]), pc.is_valid(table["air_time"]))
    return table.filter(pc.and_(flew, pc.less_equal(table["month"], months)))


def _later(moment: Any, minutes: Any) -> Any:
    return pc.add(moment, pc.multiply(minutes, MINUTE))


def write_parts(folder: Path, rows: pa.Table, ends: list[int]) -> None:
    """Write the rows between any two ends as the file of one micro-batch."""
    folder.mkdir(parents=True)
    for number, (start, end) in enumerate(pairwise(ends)):
        path = folder / f"{number:03}.parquet"
        pq.write_table(rows.slice(start, end - start), path)
        # Spark takes files in the order of their times, which must not be equal.
        os.utime(path, (1_700_000_000 + number,) * 2)


def show_live(
    what: str, write: Callable[[Path], Written], show: Callable[[Any, Written, Doing], Report]
) -> Report:
    """Return the report of a demonstration in a session and a folder of its own.

    write: writes what is to be shown into the folder, which lasts as long; `what` names this.
    show: makes the report, and shows what it is doing.
    """
    began = time.perf_counter()
    with status_line() as doing, tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        doing(what)
        written = write(Path(name))
        doing("starting Spark")
        with quiet_session(Path(name) / "spark.log", **SHORT) as spark:
            report = show(spark, written, doing)
    return report | {"seconds": round(time.perf_counter() - began, 1)}


def stream(spark: Any, folder: Path, schema: str = SCHEMA) -> DataFrame:
    """Return files as a stream, one for each micro-batch."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def discarding(results: DataFrame, checkpoint: Path) -> Callable[[], Any]:
    """Return what starts a query that takes all files and throws its results away."""
    writer = results.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start


def run(start: Callable[[], Any], look: Callable[[Any], None] = lambda query: None) -> Any:
    """Run a query to its end, look at it meanwhile, and return it.

    Spark waits ten seconds for a Python worker. On a machine that is busy otherwise the query then
    fails, with nothing lost: it is started again, from its checkpoint.
    """
    for left in reversed(range(STARTS)):
        query = start()
        try:
            while not query.awaitTermination(PAUSE):
                look(query)
            look(query)
            return query
        except StreamingQueryException as error:
            if TOO_BUSY not in str(error) or not left:
                raise
    raise AssertionError("a query is started at least once")


def speed(query: Any) -> float:
    """Return rows a second, of the median micro-batch: the first ones compile and warm up."""
    return statistics.median(each["processedRowsPerSecond"] for each in query.recentProgress)


def joined(
    spark: Any, streams: FlightStreams, policy: str, archive: Path | None = None
) -> DataFrame:
    """Join the streams in a tenth of the memory that they need."""
    left, right = (stream(spark, streams.folder / name) for name in (DEPARTURES, LANDINGS))
    return join(
        left,
        right,
        ON,
        time="at",
        within=WITHIN,
        delay=DELAY,
        budget=streams.budget,
        policy=policy,
        recall_sample=SAMPLE,
        archive=archive,
    )


def exact(
    spark: Any,
    streams: FlightStreams,
    sides: tuple[str, str] = (DEPARTURES, LANDINGS),
    how: str = "inner",
) -> DataFrame:
    """Join the streams with Spark's own batch join, as frames called `left` and `right`.

    Time is cut into cells as long as the window, and a row meets those of its own cell and of
    both neighbours. Joined on equal keys alone, a year makes a thousand million pairs to compare,
    which takes minutes.
    """
    left, right = (spark.read.schema(SCHEMA).parquet(str(streams.folder / name)) for name in sides)
    cell = F.floor(F.unix_micros("at") / WINDOW)
    left = left.withColumn("cell", cell).alias("left")
    right = right.withColumn("cell", F.explode(F.array(cell - 1, cell, cell + 1))).alias("right")
    same = [F.col(f"left.{name}") == F.col(f"right.{name}") for name in (*ON, "cell")]
    near = F.abs(F.unix_micros("left.at") - F.unix_micros("right.at")) <= WINDOW
    return left.join(right, [*same, near], how)


@contextmanager
def picture(path: Path, title: str, height: float) -> Iterator[Any]:
    """Yield the axes of a picture; write it to a file when it is drawn."""
    from matplotlib.figure import Figure  # here, because it takes a second to import

    figure = Figure(figsize=(8, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    yield axes
    figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    figure.suptitle(title, x=0.015, ha="left", size=14, weight="bold")
    figure.savefig(path, dpi=150)
