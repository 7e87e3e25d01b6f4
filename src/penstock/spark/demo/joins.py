"""Two real streams joined live on Spark: the departures and landings of a year."""

import os
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from ...extras import nycflights_folder
from ...kernel.durations import microseconds
from ..join import join
from ..metrics import Metrics, metrics
from ..quiet import SHORT, quiet_session

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


ON = ("carrier", "dest")
WITHIN, DELAY = "6 hours", "30 minutes"
SAMPLE = 0.2  # of the rows are watched for the estimate: the window is small
PAUSE = 0.1  # seconds between two looks at a query; a micro-batch takes several of them


class Told(NamedTuple):
    """What a join tells of one measure while it runs."""

    what: str
    found: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Run:
    """How a join stands: after some micro-batches, or at its end."""

    policy: str
    batches: int  # done, of so many:
    parts: int
    seconds: float  # since the query started
    rows_per_second: float  # the median of its micro-batches: the first ones compile and warm up
    most_held: int  # at the end of any micro-batch
    metrics: Metrics

    @property
    def evicted(self) -> int:
        """Return how many rows were evicted or rejected while they could still match."""
        return sum(self.metrics.evicted) + sum(self.metrics.refused)

    @property
    def told(self) -> tuple[Told, ...]:
        """Return what is told of pairs, of departures and of landings."""
        each = self.metrics
        pairs = Told("pairs", each.matches, each.recall, each.recall_low, each.recall_high)
        rows = zip(
            (DEPARTURES, LANDINGS),
            each.rows_matched,
            each.row_recall,
            each.row_recall_low,
            each.row_recall_high,
            strict=True,
        )
        return (pairs, *(Told(*figures) for figures in rows))


def run_policy(
    spark: Any, streams: Streams, policy: str, budget: int, tell: Callable[[Run], None]
) -> Run:
    """Join the streams with one policy to their end, telling of every micro-batch."""
    began = time.perf_counter()
    query = _start(spark, streams, policy, budget)
    run: Run | None = None
    ended = False
    while not ended:
        ended = query.awaitTermination(PAUSE)
        latest = metrics(query)
        if isinstance(latest, Metrics) and (run is None or latest.batch > run.metrics.batch):
            held = max(latest.rows_held, run.most_held if run else 0)
            seconds = time.perf_counter() - began
            batches = min(latest.batch + 1, streams.parts)  # the last one brings no rows
            is_new = run is None or batches > run.batches
            run = Run(policy, batches, streams.parts, seconds, _speed(query), held, latest)
            if is_new:
                tell(run)
    assert run is not None  # flights are never so few that there is no micro-batch
    return run


def _start(spark: Any, streams: Streams, policy: str, budget: int) -> Any:
    left, right = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(streams.folder / name))
        for name in (DEPARTURES, LANDINGS)
    )
    joined = join(
        left,
        right,
        ON,
        time="at",
        within=WITHIN,
        delay=DELAY,
        budget=budget,
        policy=policy,
        recall_sample=SAMPLE,
    )
    return (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(streams.folder / f"checkpoint-{policy}"))
        .trigger(availableNow=True)
        .start()
    )


def _speed(query: Any) -> float:
    speeds = [each["processedRowsPerSecond"] for each in query.recentProgress]
    return statistics.median(speeds)


class Truth(NamedTuple):
    """What unlimited memory finds."""

    results: int
    rows: tuple[int, int]  # departures and landings that are in at least one result


def count_all(spark: Any, streams: Streams) -> Truth:
    """Return how many results unlimited memory finds, and how many rows are in one.

    Time is cut into cells as long as the window, and a row meets those of its own cell and of
    both neighbours. Joined on equal keys alone, a year makes a thousand million pairs to compare,
    which takes minutes.
    """
    window = microseconds(WITHIN, "within")
    cell = F.floor(F.col("at") / window)
    around = F.explode(F.array(cell - 1, cell, cell + 1))
    rows = [_rows(spark, streams, name) for name in (DEPARTURES, LANDINGS)]
    once = [each.withColumn("cell", cell) for each in rows]
    thrice = [each.withColumn("cell", around) for each in rows]
    results = _joined(once[0], thrice[1], window, "inner").count()
    partners = zip(once, reversed(thrice), strict=True)
    left, right = (_joined(one, two, window, "left_semi").count() for one, two in partners)
    return Truth(results, (left, right))


def _joined(left: Any, right: Any, window: int, how: str) -> Any:
    """Join rows of one cell and near times."""
    one, two = left.alias("one"), right.alias("two")
    same = [F.col(f"one.{name}") == F.col(f"two.{name}") for name in (*ON, "cell")]
    near = F.abs(F.col("one.at") - F.col("two.at")) <= window
    return one.join(two, [*same, near], how)


def _rows(spark: Any, streams: Streams, name: str) -> Any:
    rows = spark.read.schema(SCHEMA).parquet(str(streams.folder / name))
    return rows.select(*ON, F.unix_micros("at").alias("at"))


POLICIES = ("prob", "rand", "fifo")  # the one that suits these streams, and two that know nothing
SHARE = 0.1  # of the rows that are alive at a time
PARTS = 12  # micro-batches, of a month each: the table moves about once a second


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    streams: Streams
    window: int  # rows of both streams that are alive at a time, on average
    budget: int  # rows that may be held
    runs: list[Run]
    full: int  # results that unlimited memory finds
    seconds: float  # for everything, the start of Spark included
    rows: tuple[int, int]  # departures and landings that have a partner

    def recall(self, run: Run) -> float:
        """Return the true recall of a run."""
        return run.metrics.matches / self.full

    def row_recall(self, run: Run) -> tuple[float, float]:
        """Return the true shares of the departures and landings with a partner that found one."""
        left, right = run.metrics.rows_matched
        return left / self.rows[0], right / self.rows[1]

    def holds(self, run: Run) -> bool:
        """Tell whether the interval of the estimate holds the true recall."""
        return self.held_by(run)[0]

    def held_by(self, run: Run) -> list[bool]:
        """Tell which intervals hold the truth: of pairs, of departures, of landings."""
        true = (self.recall(run), *self.row_recall(run))
        return [
            each.low is not None and each.high is not None and each.low <= share <= each.high
            for each, share in zip(run.told, true, strict=True)
        ]


class Watcher(Protocol):
    """What is told of the progress."""

    def doing(self, what: str) -> None:
        """Take note of what is done from now on."""

    def stands(self, run: Run) -> None:
        """Take note of how a join stands."""


def run_demo(watcher: Watcher, months: int = 12) -> Demo:
    """Join the first months of both streams on a local Spark, with one policy after the other."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        folder = Path(name)
        watcher.doing("reading the flights")
        streams = write_streams(folder, months, PARTS)
        watcher.doing("starting Spark")
        with quiet_session(folder / "spark.log", **SHORT) as spark:
            return compare(spark, streams, watcher, began)


def compare(spark: Any, streams: Streams, watcher: Watcher, began: float) -> Demo:
    """Join the streams with each policy, and count what there was to find."""
    window = round(streams.rows * microseconds(WITHIN, "within") / streams.span)
    budget = int(window * SHARE)
    runs = []
    for policy in POLICIES:
        watcher.doing(f"joining with {policy}: the workers start and compile")
        runs.append(run_policy(spark, streams, policy, budget, watcher.stands))
    watcher.doing("counting all results and the rows in them, with Spark's own batch join")
    full, rows = count_all(spark, streams)
    return Demo(streams, window, budget, runs, full, time.perf_counter() - began, rows)
