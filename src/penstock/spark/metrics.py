"""What a running query reports about itself: what was kept and what was lost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..engine.adapt import census
from ..engine.adapt.census import Ruling
from ..errors import BadInput
from ..kernel.gains import PAIRS, ROWS
from ..kernel.policy import CACHING
from .observe import observed, observed_row, one_a_line, ran_batch
from .plan import JoinPlan
from .recall.estimate import SUMS, Recall, estimate
from .runtime.join_bucket import counter_names
from .runtime.sharing import TOLD

JOIN = "penstock"
HALF = 0.5  # of the pairs: then a few keys decide recall


@dataclass(frozen=True)
class Metrics:
    """Totals since the query first started, over all buckets; tuples hold one number per input."""

    batch: int
    arrived: tuple[int, ...]
    late: tuple[int, ...]  # dropped: they came after the watermark
    null_keys: tuple[int, ...]  # they match nothing: dropped, unless their side is preserved
    null_times: int  # they belong to no window: likewise; not among those that arrived
    expired: tuple[int, ...]
    evicted: tuple[int, ...]
    refused: tuple[int, ...]
    completed: tuple[int, ...]  # left the memory with their only partner
    unmatched: tuple[int, ...]  # given out without a partner, by outer and anti joins
    unmatched_evicted: tuple[int, ...]  # and of these the ones that were evicted or rejected
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


def observed_join(packets: DataFrame, plan: JoinPlan) -> DataFrame:
    """Let the query's progress carry the counters of a join."""
    facts = {"inputs": len(plan.inputs), "goal": plan.goal}
    names = counter_names(len(plan.inputs))
    share = F.col("counters")[names.index("share")]
    more = [
        F.min(share).alias("share_least"),
        F.max(share).alias("share_most"),
        F.collect_list("hottest").alias("hottest"),
    ]
    return observed(packets, JOIN, names, facts, more)


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
        each("completed"),
        each("unmatched"),
        each("unmatched_evicted"),
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
        census.read(row),
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


BINS = 32
AGES = [f"age_{number}" for number in range(BINS)]
MILLISECOND = 1_000  # microseconds


def count_ages(microseconds: np.ndarray) -> np.ndarray:
    """Return how many ages fall below 1 ms, then from 1 to 2 ms, from 2 to 4, ...

    >>> count_ages(np.array([0, 1_500, 3_000_000]))[[0, 1, 12]].tolist()
    [1, 1, 1]
    """
    steps = np.log2(np.maximum(microseconds, MILLISECOND // 2) / MILLISECOND)
    numbers = np.clip(np.floor(steps) + 1, 0, BINS - 1).astype(np.int64)
    return np.bincount(numbers, minlength=BINS)


def quantile(counts: np.ndarray, share: float) -> float | None:
    """Return the age in seconds that a share of all rows did not exceed, to within its bin.

    >>> quantile(count_ages(np.full(100, 3_000_000)), 0.5)
    2.896...
    """
    total = counts.sum()
    if total == 0:
        return None
    number = int(np.searchsorted(np.cumsum(counts), share * total))
    before = counts[:number].sum()
    within = (share * total - before) / counts[number]
    if number == 0:
        return float(within / 1000)
    return float(2.0 ** (number - 1 + within) / 1000)


LOOKUP = "penstock_lookup"
LOOKUP_COUNTED = (
    "events",
    "null",
    "hits",
    "known_missing",
    "misses",
    "found",
    "calls",
    "retries",
    "asked",
    "fetched",
    "expired",
    "changes",
    "invalidated",
    "evicted",
    "refused",
)


def lookup_counters() -> list[str]:
    """Return the names of the counters that every bucket of a lookup reports."""
    return [*LOOKUP_COUNTED, "held", "bytes", *AGES, *census.names(CACHING)]


ALARMING = 0.5  # the share of events without a row above which something must be wrong


@dataclass(frozen=True)
class LookupMetrics:
    """Totals since the query first started, over all buckets."""

    batch: int
    events: int
    null_keys: int  # events without a key
    hits: int  # events whose row was cached
    known_missing: int  # events whose key was cached as one without a row
    misses: int  # events whose key was not cached
    found: int  # events that were given a row
    calls: int  # queries sent to the relation, those without an answer included
    retries: int
    keys_asked: int
    rows_fetched: int
    expired: int  # rows that had become older than ttl
    changes: int  # keys that came by `changes`
    invalidated: int  # and were cached
    evicted: int
    refused: int  # rows fetched, used and not kept
    rows_held: int
    bytes_held: int
    staleness_p50: float | None  # age of the rows at serving, in seconds
    staleness_p99: float | None
    ruling: Ruling  # which policies rule the buckets, and with `auto` what the others would find

    @property
    def keys_missing(self) -> int:
        """How many of the keys asked for had no row in the relation."""
        return self.keys_asked - self.rows_fetched

    @property
    def unfound(self) -> int:
        """How many events with a key were given no row."""
        return self.events - self.null_keys - self.found

    @property
    def hit_ratio(self) -> float | None:
        """The share of events with a key whose row was cached; nothing found is no hit."""
        asked = self.events - self.null_keys
        return self.hits / asked if asked else None

    @property
    def alarm(self) -> str | None:
        """What looks wrong, in a sentence; None if nothing does."""
        asked = self.events - self.null_keys
        if self.events and not asked:
            return f"all {self.events:,} events have a null key: is it the right column?"
        if asked and not self.found:
            return (
                f"none of {asked:,} events found a row in the relation: it is empty, or its keys "
                "are not those of the events"
            )
        if asked and self.unfound > ALARMING * asked:
            return f"{self.unfound / asked:.0%} of {asked:,} events found no row in the relation"
        return None

    def __str__(self) -> str:
        alarm = f"ALARM: {self.alarm}\n" if self.alarm else ""
        return alarm + one_a_line(self)


def read_lookup(row: dict[str, Any], batch: int) -> LookupMetrics:
    """Return the figures of one progress report."""
    counts = np.array([row[name] for name in AGES])
    values: list[Any] = [batch, *(int(row[name]) for name in (*LOOKUP_COUNTED, "held", "bytes"))]
    values += [quantile(counts, share) for share in (0.5, 0.99)]
    values.append(census.read(row))
    return LookupMetrics(*values)


THIN = "penstock_thin"
SENT = ("above", "below", "asked", "spoke", "first")  # KINDS of penstock.precision.thinning
THIN_COUNTED = ("readings", "queries", *SENT, "null_key", "null_time", "no_number")
THIN_COUNTERS = [*THIN_COUNTED, "late", "late_queries", "unknown", "keys", "bytes"]


@dataclass(frozen=True)
class ThinMetrics:
    """Totals since the query first started, over all keys."""

    batch: int
    readings: int
    queries: int
    above: int  # refreshes, by their kind: the value left its interval above, or
    below: int
    asked: int  # a query needed the exact value
    spoke: int  # nothing was sent for `max_silence`
    first: int  # the first interval of a key
    null_keys: int  # dropped rows: they belong to no source
    null_times: int  # dropped rows: their time is unknown
    no_number: int  # dropped rows: value or delta is null or NaN, infinite, or delta is negative
    late: int  # dropped readings: older than the last one of their key
    late_queries: int
    unknown: int  # queries of a key that had no reading yet
    keys: int
    bytes_held: int

    def __str__(self) -> str:
        return one_a_line(self)

    @property
    def sent(self) -> int:
        """How many refreshes there were."""
        return self.above + self.below + self.asked + self.spoke + self.first

    @property
    def kept(self) -> float | None:
        """The share of readings that the sources sent by themselves."""
        return (self.sent - self.asked) / self.readings if self.readings else None


def read_thin(row: dict[str, Any], batch: int) -> ThinMetrics:
    """Return the figures of one progress report."""
    return ThinMetrics(batch, *(int(row[name]) for name in THIN_COUNTERS))


READERS: dict[str, Callable[[dict[str, Any], int], Any]] = {
    JOIN: read_join,
    LOOKUP: read_lookup,
    THIN: read_thin,
}
