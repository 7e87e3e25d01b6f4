"""The whole demonstration: one live join per policy over the same streams, and then the truth."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ...core.durations import microseconds
from .exact import count_all
from .flights import Streams, write_streams
from .live import WITHIN, Run, run_policy
from .quiet import quiet_session

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
    """Whoever wants to know how it goes."""

    def doing(self, what: str) -> None:
        """Take note of what goes on from now on."""

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
        with quiet_session(folder / "spark.log") as spark:
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
