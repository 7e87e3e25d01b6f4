"""Two real streams joined live on Spark: the departures and landings of a year."""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..metrics import Metrics, metrics
from .flights import DEPARTURES, LANDINGS, FlightStreams, exact, joined, speed, start

POLICIES = ("prob", "rand", "fifo")  # the one that suits these streams, and two that know nothing
PAUSE = 0.1  # seconds between two looks at a query; a micro-batch takes several of them


class Told(NamedTuple):
    """What a join tells of one measure while it runs."""

    what: str
    found: int
    share: float | None
    low: float | None
    high: float | None

    def holds(self, true: float) -> bool:
        """Tell whether the interval holds the truth."""
        return self.low is not None and self.high is not None and self.low <= true <= self.high


@dataclass(frozen=True)
class Run:
    """How a join stands: after some micro-batches, or at its end."""

    policy: str
    batches: int  # done, of so many:
    parts: int
    seconds: float  # since the query started
    rows_per_second: float
    most_held: int  # at the end of any micro-batch
    metrics: Metrics

    @property
    def evicted(self) -> int:
        """Return how many rows were evicted or rejected while they could still match."""
        return sum(self.metrics.evicted) + sum(self.metrics.rejected)

    @property
    def told(self) -> tuple[Told, ...]:
        """Return what is told of pairs, of departures and of landings."""
        each = self.metrics
        pairs = Told("pairs", each.matches, each.recall, each.recall_low, each.recall_high)
        recall = each.row_recall, each.row_recall_low, each.row_recall_high
        rows = zip((DEPARTURES, LANDINGS), each.rows_matched, *recall, strict=True)
        return (pairs, *(Told(*figures) for figures in rows))


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    streams: FlightStreams
    runs: list[Run]
    full: int  # results that unlimited memory finds
    rows: tuple[int, int]  # departures and landings that have a partner
    seconds: float  # for everything, the start of Spark included

    @property
    def best(self) -> Run:
        """Return the run that found most results."""
        return max(self.runs, key=self.recall)

    def recall(self, run: Run) -> float:
        """Return the true recall of a run."""
        return run.metrics.matches / self.full

    def row_recall(self, run: Run) -> tuple[float, float]:
        """Return the true shares of the departures and landings with a partner that found one."""
        left, right = run.metrics.rows_matched
        return left / self.rows[0], right / self.rows[1]

    def truth(self, run: Run) -> tuple[float, float, float]:
        """Return the true shares of what `Run.told` tells."""
        return (self.recall(run), *self.row_recall(run))

    def held_by(self, run: Run) -> list[bool]:
        """Tell which intervals hold the truth: of pairs, of departures, of landings."""
        return [told.holds(true) for told, true in zip(run.told, self.truth(run), strict=True)]


class Watcher(Protocol):
    """What is told of the progress."""

    def doing(self, what: str) -> None:
        """Take note of what is done from now on."""

    def stands(self, run: Run) -> None:
        """Take note of how a join stands."""


def compare(spark: Any, streams: FlightStreams, watcher: Watcher, began: float) -> Demo:
    """Join the streams with each policy, and count what there was to find."""
    runs = []
    for policy in POLICIES:
        watcher.doing(f"joining with {policy}: the workers start and compile")
        runs.append(_run(spark, streams, policy, watcher))
    watcher.doing("counting all results and the rows in them, with Spark's own batch join")
    full = exact(spark, streams).count()
    sides = (DEPARTURES, LANDINGS), (LANDINGS, DEPARTURES)
    left, right = (exact(spark, streams, each, "left_semi").count() for each in sides)
    return Demo(streams, runs, full, (left, right), time.perf_counter() - began)


def _run(spark: Any, streams: FlightStreams, policy: str, watcher: Watcher) -> Run:
    """Join the streams with one policy to their end, telling of every micro-batch."""
    began = time.perf_counter()
    checkpoint = streams.folder / f"checkpoint-{policy}"
    query = start(joined(spark, streams, policy), checkpoint)
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
            run = Run(policy, batches, streams.parts, seconds, speed(query), held, latest)
            if is_new:
                watcher.stands(run)
    assert run is not None  # flights are never so few that there is no micro-batch
    return run
