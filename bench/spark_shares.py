"""Shares by demand beside equal shares and one bucket, on Spark: recall, and time of a micro-batch.

python bench/spark_shares.py --json bench/results/spark_shares.json     # on a quiet machine
python bench/spark_shares.py --buckets 2 8 32 200 --no-equal --partitions 200  # their count

Zipf 1.0, a budget of 20 % of the window's rows. The contenders take turns in one session, round
after round, so that all meet the same machine; compared are the medians of the steady micro-batches
of all rounds. Shares by demand find several times as many results, and results take time to write:
so the second part has few of them (one row in fifty is of the right side). The truth is counted by
a join without a budget.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from penstock.engine import Join
from penstock.spark import join, metrics
from penstock.spark.plan import JoinPlan
from penstock.spark.session import local

WINDOW, ROWS, KEYS = 20_000, 10_000, 20_000  # rows alive, rows of a micro-batch
POWER, BUDGET = 1.0, 0.2
STEP = 1000  # microseconds from row to row
START = 1_700_000_000_000_000
WARM = 6  # micro-batches before the steady ones
PARTS = {"half of the rows on each side": 0.5, "one row in fifty on the right": 0.02}


class EqualPlan(JoinPlan):
    """A plan of which each bucket has the same share."""

    @property
    def shared(self) -> None:
        """Nothing."""


class Contender(NamedTuple):
    """One way to cut the budget."""

    buckets: int
    equal: bool = False

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.buckets == 1:
            return "1 bucket"
        return f"{self.buckets} buckets, {'equal shares' if self.equal else 'shares by demand'}"


def write(folder: Path, batches: int, right: float) -> int:
    """Write the files of both sides; return how many results there are."""
    rng = np.random.default_rng(1)
    weight = 1 / np.arange(1, KEYS + 1) ** POWER
    names = rng.permutation(KEYS)
    exact = Join(within=WINDOW * STEP)
    for number in range(batches):
        key = names[rng.choice(KEYS, ROWS, p=weight / weight.sum())]
        side = (rng.random(ROWS) < right).astype(np.int8)
        time = START + (number * ROWS + np.arange(ROWS)) * STEP
        exact.push(side, key, time, emit=False)
        for each in (0, 1):
            mine = side == each
            at = pa.array(time[mine]).view(pa.timestamp("us", "UTC"))
            path = folder / f"side{each}" / f"{number:05d}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(pa.table({"k": key[mine], "ts": at, "v": rng.random(mine.sum())}), path)
    return exact.results


def run(spark: Any, folder: Path, who: Contender, policy: str) -> tuple[Any, list[float]]:
    """Run one contender over the files; return its figures and the seconds of micro-batches."""
    sides = [
        spark.readStream.schema("k long, ts timestamp, v double")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / f"side{side}"))
        for side in (0, 1)
    ]
    options = {"time": "ts", "within": f"{WINDOW * STEP // 1000} milliseconds", "policy": policy}
    options |= {"delay": "0 seconds", "budget": round(BUDGET * WINDOW), "buckets": who.buckets}
    with mock.patch.object(
        sys.modules["penstock.spark.join"], "JoinPlan", EqualPlan if who.equal else JoinPlan
    ):
        joined = join(*sides, "k", **options)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint:
        writer = joined.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        done = [each for each in query.recentProgress if each["numInputRows"]]
        told = metrics(query)
    return told, [each["durationMs"]["triggerExecution"] / 1000 for each in done]


def measure(spark: Any, right: float, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the figures of all contenders, which take turns."""
    who = [Contender(1)]
    for buckets in chosen.buckets:
        who += [Contender(buckets), *([] if chosen.no_equal else [Contender(buckets, equal=True)])]
    seconds: dict[Contender, list[float]] = {each: [] for each in who}
    told: dict[Contender, Any] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-data-") as folder:
        everything = write(Path(folder), chosen.batches, right)
        for _ in range(chosen.rounds):
            for each in who:
                told[each], taken = run(spark, Path(folder), each, chosen.policy)
                seconds[each] += taken[WARM:]
    return [
        {
            "who": each.name,
            "seconds": statistics.median(seconds[each]),
            "truth": told[each].matches / everything,
            "recall": told[each].recall,
            "low": told[each].recall_low,
            "high": told[each].recall_high,
            "shares": told[each].shares,
        }
        for each in who
    ]


def table(title: str, found: list[dict[str, Any]]) -> Table:
    """Return one line per contender."""
    shown = Table("", "s a batch", "recall", "as told", "of one bucket", "shares", title=title)
    for each in found:
        told = f"{each['recall']:.3f} ({each['low']:.3f} to {each['high']:.3f})"
        beside = f"{each['truth'] / found[0]['truth']:.3f}"
        about = f"{each['seconds']:.3f}", f"{each['truth']:.3f}", told, beside
        shown.add_row(each["who"], *about, "{} to {}".format(*each["shares"]))
    return shown


def main() -> None:
    """Measure both parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--buckets", nargs="*", type=int, default=[32])
    parser.add_argument("--no-equal", action="store_true", help="without equal shares")
    parser.add_argument("--partitions", type=int, default=2, help="spark.sql.shuffle.partitions")
    parser.add_argument("--policy", default="prob")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    settings = {"spark.sql.streaming.numRecentProgressUpdates": 1000}
    spark = local(**settings | {"spark.sql.shuffle.partitions": chosen.partitions})
    spark.sparkContext.setLogLevel("ERROR")
    report = {name: measure(spark, right, chosen) for name, right in PARTS.items()}
    spark.stop()
    for name, found in report.items():
        Console(width=120).print(table(name, found))
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
