"""The demonstration of lookups: one live enrichment per policy over the same events."""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...relations import Relation
from ..enrich.figures import LookupMetrics
from ..lookup import lookup
from ..metrics import metrics
from .planes import SCHEMA, TABLE, Flights, write_flights
from .quiet import quiet_session

POLICIES = ("wtinylfu", "lru", "fifo")
SHARE = 1 / 3  # of the table is cached
PARTS = 24  # micro-batches, of half a month each


@dataclass(frozen=True)
class LookupRun:
    """How one enrichment ended."""

    policy: str
    seconds: float
    events_per_second: float  # the median of its micro-batches: the first ones compile and warm up
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


def run_lookups(doing: Callable[[str], None], months: int = 12) -> LookupDemo:
    """Give the flights of the first months their planes, with one policy after the other."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as name:
        folder = Path(name)
        doing("reading the flights, and writing the planes to a database")
        flights = write_flights(folder, months, PARTS)
        doing("starting Spark")
        with quiet_session(folder / "spark.log") as spark:
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
    events = (
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(flights.folder))
    )
    relation = Relation(f"sqlite:///{flights.database}", table=TABLE)
    query = (
        lookup(events, relation, "tailnum", memory=memory, policy=policy)
        .writeStream.format("noop")
        .option("checkpointLocation", str(flights.folder.parent / f"checkpoint-{policy}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    speed = statistics.median(each["processedRowsPerSecond"] for each in query.recentProgress)
    return LookupRun(policy, time.perf_counter() - began, speed, metrics(query))
