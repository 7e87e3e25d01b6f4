"""Join the streams live with one policy, and tell how it stands after every micro-batch."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..join import join
from ..metrics import Metrics, metrics
from .flights import DEPARTURES, LANDINGS, SCHEMA, Streams

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
    def let_go(self) -> int:
        """Return how many rows had to go, or were not let in, while they could still match."""
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
        if latest is not None and (run is None or latest.batch > run.metrics.batch):
            held = max(latest.rows_held, run.most_held if run else 0)
            seconds = time.perf_counter() - began
            batches = latest.batch + 1
            run = Run(policy, batches, streams.parts, seconds, _speed(query), held, latest)
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
