"""What a running thinning tells about itself.

`penstock.spark.metrics` reads it in every process, so it loads nothing of `penstock.precision`.
"""

from dataclasses import dataclass
from typing import Any

from ..telling import one_a_line

THIN = "penstock_thin"
SENT = ("above", "below", "asked", "spoke", "first")  # KINDS of penstock.precision.thinning
COUNTED = ("readings", "queries", *SENT, "null_key", "null_time", "no_number")
COUNTERS = [*COUNTED, "late", "late_queries", "unknown", "keys", "bytes"]


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
    return ThinMetrics(batch, *(int(row[name]) for name in COUNTERS))
