"""What a running query tells about itself: the truth about what was kept and what was lost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..core.gains import PAIRS, ROWS
from ..core.policy import JOINING
from ..engines import standing
from ..engines.standing import Ruling
from ..errors import BadInput
from .bucket import counter_names
from .enrich.figures import LOOKUP, read_lookup
from .estimate import SUMS, Recall, estimate
from .observe import observed, observed_row, ran_batch
from .plan import Plan
from .sharing import TOLD
from .telling import one_a_line
from .thinning.figures import THIN, read_thin

JOIN = "penstock"
HALF = 0.5  # of the pairs: then a few keys decide recall


@dataclass(frozen=True)
class Metrics:
    """Totals since the query first started, over all buckets; tuples hold one number per input."""

    batch: int
    arrived: tuple[int, ...]
    late: tuple[int, ...]  # dropped: they came after the watermark
    null_keys: tuple[int, ...]  # dropped: they match nothing
    null_times: int  # dropped: they belong to no window
    expired: tuple[int, ...]
    evicted: tuple[int, ...]
    refused: tuple[int, ...]
    matches: int
    rows_held: int
    bytes_held: int
    recall: float | None  # of pairs, estimated; None while nothing supports an estimate
    recall_low: float  # its 95 % interval: what is known in any case
    recall_high: float
    rows_matched: tuple[int, ...]  # rows that found at least one partner
    row_recall: tuple[float | None, ...]  # their share of the rows that have one, estimated
    row_recall_low: tuple[float, ...]  # its 95 % interval
    row_recall_high: tuple[float, ...]
    hot_pairs: float | None  # the share of the pairs found that the ten keys with most of them make
    shares: tuple[int, int]  # of the budget: what the buckets with least and most may hold
    hottest: tuple[tuple[str, float], ...]  # the most frequent keys, with their share of the rows
    ruling: Ruling  # which policies rule the buckets, and with `auto` what the others would find
    note: str  # what a person should know of these figures; empty where there is nothing

    def __str__(self) -> str:
        return one_a_line(self)


def observed_join(packets: DataFrame, plan: Plan) -> DataFrame:
    """Let the query's progress carry the counters of a join."""
    facts = {"inputs": len(plan.inputs), "goal": plan.goal}
    more = [
        F.min("share").alias("share_least"),
        F.max("share").alias("share_most"),
        F.collect_list("hottest").alias("hottest"),
    ]
    return observed(packets, JOIN, counter_names(len(plan.inputs)), facts, more)


def metrics(query: Any) -> Any:
    """Return the latest figures of a streaming query, None before its first batch with data.

    A query that waits for data reports none, so the last report of a batch counts, as long as Spark
    keeps it (`spark.sql.streaming.numRecentProgressUpdates`). The figures are `Metrics` of a join,
    `LookupMetrics` of a lookup, or `ThinMetrics` of a thin. Works on classic Spark and on Spark
    Connect.
    """
    if not hasattr(query, "recentProgress"):
        raise BadInput(
            f"metrics() reads a streaming query, got a {type(query).__name__}; pass what "
            "writeStream...start() returned (a join of batch frames keeps no figures)"
        )
    reports = list(query.recentProgress)
    seen = False
    for progress in reversed(reports):
        for name, read in READERS.items():
            found = observed_row(progress, name)
            seen = seen or found is not None
            if found is not None and found.figures.get("inputs") is not None:
                return read(found.figures, found.batch)
    if not seen and any(map(ran_batch, reports)):
        raise BadInput(
            f"query {query.name or query.id} reports no figures called {' or '.join(READERS)}; "
            "metrics() reads queries whose plan holds a join, lookup or thin of penstock.spark"
        )
    return None


def read_join(row: dict[str, Any], batch: int) -> Metrics:
    """Return the figures of one progress report."""
    inputs = range(int(row["inputs"]))

    def each(name: str) -> tuple[int, ...]:
        return tuple(int(row[f"{name}_{stream}"]) for stream in inputs)

    sums = {name.removeprefix("shadow_"): row[name] for name in row if name.startswith("shadow_")}
    evicted, refused = each("evicted"), each("refused")
    gone = sum(evicted) + sum(refused)
    recall = estimate(sums, row["matched"], gone)
    found = each("rows_matched")
    rows = [
        estimate({name: row[f"rows_{name}_{stream}"] for name in SUMS}, found[stream], gone)
        for stream in inputs
    ]
    told = [json.loads(text) for text in row.get("hottest") or ()]
    hot = _hot_pairs(told, row["matched"])
    return Metrics(
        batch,
        each("arrived"),
        each("late"),
        each("null"),
        int(row["no_time"]),
        each("expired"),
        evicted,
        refused,
        int(row["matched"]),
        int(row["held"]),
        int(row["bytes"]),
        *recall,
        found,
        tuple(each.value for each in rows),
        tuple(each.low for each in rows),
        tuple(each.high for each in rows),
        hot,
        (int(row.get("share_least", 0)), int(row.get("share_most", 0))),
        _hottest(told),
        standing.read(row, JOINING),
        _note(row.get("goal", PAIRS), hot, rows),
    )


def _hottest(told: Sequence[dict[str, Any]]) -> tuple[tuple[str, float], ...]:
    """Return the most frequent keys of all buckets, each of which tells of its own."""
    found = [(str(key), float(share)) for each in told for key, share in each["hottest"]]
    return tuple(sorted(found, key=lambda key: (-key[1], key[0])))[:TOLD]


def _hot_pairs(told: Sequence[dict[str, Any]], matches: float) -> float | None:
    """Return the share of the results that the keys with most of them have."""
    if not told or not matches:
        return None
    counts = sorted((count for each in told for count in each["pairs"]), reverse=True)
    return min(1.0, sum(counts[:TOLD]) / matches)


def _note(goal: str, hot: float | None, rows: list[Recall]) -> str:
    """Say so where a few keys make most of the pairs, and rows went without a partner."""
    found = [each.value for each in rows if each.value is not None]
    if goal == ROWS or hot is None or hot <= HALF or not found or min(found) >= 1:
        return ""
    shares = " and ".join(f"{share:.1%}" for share in found)
    return (
        f"the {TOLD} keys with most pairs make {hot:.0%} of all pairs, so recall is mostly about "
        f"these keys; of the rows that have a partner {shares} found one (frame by frame): if "
        "these rows count, pass goal='rows'"
    )


READERS: dict[str, Callable[[dict[str, Any], int], Any]] = {
    JOIN: read_join,
    LOOKUP: read_lookup,
    THIN: read_thin,
}
