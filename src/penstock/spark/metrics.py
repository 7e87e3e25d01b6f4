"""What a running query reports about itself: what was kept and what was lost."""

from dataclasses import dataclass, fields
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from ..engine.adapt.census import InForce
from ..errors import BadInput
from ..kernel.gains import ROWS
from .checks import whole
from .figures import JOIN, LOOKUP, THIN, join_name
from .observe import figures_of, one_a_line, ran_batch
from .runtime.sharing import NAMED

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
    rejected: tuple[int, ...]
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
    in_force: InForce  # policies by buckets, and with `auto` what the challengers would find
    policy: str  # as it was asked for
    goal: str
    budget: int | None
    in_bytes: bool  # what the budget counts: bytes, or rows
    # With an archive: results missed and not reconciled yet, estimated, with a 95 % interval; the
    # bytes that are archived; and for how long the oldest of them have been.
    owed_pairs: float | None = None
    owed_pairs_low: float | None = None
    owed_pairs_high: float | None = None
    owed_bytes: int | None = None
    owed_seconds: float | None = None

    @property
    def note(self) -> str:
        """What a person should know of these figures; empty where there is nothing.

        Where a few keys make most of the pairs, and rows went without a partner, it says so.
        """
        hot, found = self.hot_pairs, [each for each in self.row_recall if each is not None]
        if self.goal == ROWS or hot is None or hot <= HALF or not found or min(found) >= 1:
            return ""
        shares = " and ".join(f"{share:.1%}" for share in found)
        return (
            f"the {NAMED} keys with most pairs make {hot:.0%} of all pairs, so recall is mostly "
            f"about these keys; of the rows that have a partner {shares} found one (frame by "
            "frame): if these rows count, pass goal='rows'"
        )

    def __str__(self) -> str:
        return one_a_line(self) + (f"\nnote  {self.note}" if self.note else "")


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
    rejected: int  # rows fetched, used and not kept
    bytes_saved: int  # of the rows of hits, which were not fetched
    bytes_fetched: int
    cost_saved: int | None  # what it would have cost to fetch them; None without cost=
    cost_fetched: int | None  # what was fetched cost so much
    rows_held: int
    bytes_held: int
    staleness_p50: float | None  # age of the rows at serving, in seconds
    staleness_p99: float | None
    in_force: InForce  # policies by buckets, and with `auto` what the challengers would find
    policy: str  # as it was asked for
    goal: str
    budget: int
    in_bytes: bool  # what the budget counts: bytes, or rows

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
    def bytes_saved_ratio(self) -> float | None:
        """The share that was saved of the bytes that were saved or fetched."""
        return _share(self.bytes_saved, self.bytes_fetched)

    @property
    def cost_saved_ratio(self) -> float | None:
        """The share that was saved of the costs that were saved or paid; None without cost=."""
        return _share(self.cost_saved, self.cost_fetched)

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


def _share(part: int | None, other: int | None) -> float | None:
    """Return the share of a part; None where there is nothing, or it is not known."""
    return (
        part / (part + other) if part is not None and other is not None and part + other else None
    )


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


AnyMetrics = Metrics | LookupMetrics | ThinMetrics
KINDS: dict[str, type[AnyMetrics]] = {JOIN: Metrics, LOOKUP: LookupMetrics, THIN: ThinMetrics}


def metrics(query: StreamingQuery, join: int = 1) -> AnyMetrics | None:
    """Return the latest figures of a streaming query, None before its first batch with data.

    Where rows pass several joins of Penstock in one query, `join` is the number of the one that is
    meant, in the order in which rows pass them. A query that waits for data reports none, so the
    last report of a batch counts, as long as Spark keeps it
    (`spark.sql.streaming.numRecentProgressUpdates`). The figures are `Metrics` of a join,
    `LookupMetrics` of a lookup, or `ThinMetrics` of a thin. Works on classic Spark and on Spark
    Connect.
    """
    if not hasattr(query, "recentProgress"):
        raise BadInput(
            f"metrics() reads a streaming query, got {type(query).__name__}; pass what "
            "writeStream...start() returned (a join of batch frames keeps no figures)"
        )
    reports = list(query.recentProgress)
    names = list(KINDS) if join == 1 else [join_name(whole(join, "join", 1))]
    seen = False
    for progress in reversed(reports):
        for name in names:
            found = figures_of(progress, name)
            seen = seen or found is not None
            if found:
                return read(name, found, progress["batchId"])
    if not seen and any(map(ran_batch, reports)):
        raise BadInput(
            f"query {query.name or query.id} reports no figures called {' or '.join(names)}; "
            "metrics() reads queries whose plan holds a join, lookup or thin of penstock.spark"
        )
    return None


def read(name: str, figures: dict[str, Any], batch: int) -> AnyMetrics:
    """Return the figures of one progress report, which are observed under this name."""
    kind = KINDS.get(name, Metrics)
    values = figures | {"batch": batch}
    if "in_force" in values:
        values["in_force"] = InForce(**values["in_force"])
    if "hottest" in values:
        values["hottest"] = [(each["key"], each["share"]) for each in values["hottest"]]
    known = {each.name for each in fields(kind)}
    chosen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name in known
    }
    return kind(**chosen)
