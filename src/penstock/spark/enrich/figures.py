"""What a running lookup tells about itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.policy import CACHING
from ...engines import standing
from ...engines.standing import Ruling
from ..telling import one_a_line
from . import ages

LOOKUP = "penstock_lookup"
COUNTED = (
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
COUNTERS = [*COUNTED, "held", "bytes", *ages.NAMES, *standing.names(CACHING)]
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
    counts = np.array([row[name] for name in ages.NAMES])
    values: list[Any] = [batch, *(int(row[name]) for name in (*COUNTED, "held", "bytes"))]
    values += [ages.quantile(counts, share) for share in (0.5, 0.99)]
    values.append(standing.read(row, CACHING))
    return LookupMetrics(*values)
