"""Counters in a query's progress: put there by `observe`, and read back in whatever form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class Observed(NamedTuple):
    """The figures of one micro-batch."""

    figures: dict[str, Any]
    batch: int


def observed(
    packets: DataFrame,
    name: str,
    counters: list[str],
    facts: dict[str, Any],
    more: Sequence[Column] = (),
) -> DataFrame:
    """Let the query's progress carry sums of counters, and facts that are the same everywhere."""
    sums = [F.sum(counter).alias(counter) for counter in counters]
    same = [F.max(F.lit(fact)).alias(n) for n, fact in facts.items()]
    return packets.observe(name, *sums, *same, *more)


def observed_row(progress: Any, name: str) -> Observed | None:
    """Return the observed figures of one progress report, in whatever form Spark gives them."""
    try:
        found = _field(progress, "observedMetrics")
    except (KeyError, AttributeError):
        return None
    row = (found or {}).get(name)
    if row is None:
        return None
    fields = row if isinstance(row, dict) else row.asDict()
    if "values" in fields and "schema" in fields:  # Spark Connect
        names = [field["name"] for field in fields["schema"]["fields"]]
        fields = dict(zip(names, fields["values"], strict=True))
    return Observed(fields, _field(progress, "batchId"))


def ran_batch(progress: Any) -> bool:
    """Tell whether a progress report is of a micro-batch that ran, not of a query that waits."""
    try:
        return "addBatch" in _field(progress, "durationMs")
    except (KeyError, AttributeError):
        return True


def _field(progress: Any, name: str) -> Any:
    return progress[name] if isinstance(progress, dict) else getattr(progress, name)
