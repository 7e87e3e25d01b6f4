"""What a running join tells about itself: the truth about what was kept and what was lost."""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import BadInput
from .estimate import estimate
from .operator import counter_names
from .plan import Plan

NAME = "penstock"


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
    recall: float | None  # estimated; None while nothing was there to find
    recall_low: float | None  # its 95 % interval
    recall_high: float | None


def observed(packets: DataFrame, plan: Plan) -> DataFrame:
    """Let the query's progress carry the counters."""
    names = counter_names(len(plan.inputs))
    sums = [F.sum(name).alias(name) for name in names]
    facts = [
        F.lit(len(plan.inputs)).alias("inputs"),
        F.lit(plan.sample if plan.budget is not None else 1.0).alias("sample"),
        F.lit(plan.budget is None).alias("exact"),
    ]
    return packets.observe(NAME, *sums, *[F.max(fact).alias(n) for fact, n in _named(facts)])


def _named(facts: list) -> list[tuple[Any, str]]:
    return list(zip(facts, ("inputs", "sample", "exact"), strict=True))


def metrics(query: Any) -> Metrics | None:
    """Return the latest figures of a streaming query, None before its first batch with data.

    Works on classic Spark and on Spark Connect.
    """
    if not hasattr(query, "recentProgress"):
        raise BadInput(
            f"metrics() reads a streaming query, got a {type(query).__name__}; pass what "
            "writeStream...start() returned (a join of batch frames keeps no figures)"
        )
    seen = False
    for progress in reversed(list(query.recentProgress)):
        row = _observed_row(progress)
        seen = seen or row is not None
        if row is not None and row.get("inputs") is not None:
            return _read(row, _field(progress, "batchId"))
    if not seen and len(list(query.recentProgress)):
        raise BadInput(
            f"query {query.name or query.id} reports no figures called {NAME!r}; metrics() reads "
            "queries whose plan holds penstock.spark.join"
        )
    return None


def _field(progress: Any, name: str) -> Any:
    return progress[name] if isinstance(progress, dict) else getattr(progress, name)


def _observed_row(progress: Any) -> dict[str, Any] | None:
    """Return the observed figures of one progress report, in whatever form Spark gives them."""
    try:
        found = _field(progress, "observedMetrics")
    except (KeyError, AttributeError):
        return None
    row = (found or {}).get(NAME)
    if row is None:
        return None
    if isinstance(row, dict):
        if "values" in row and "schema" in row:  # Spark Connect
            names = [field["name"] for field in row["schema"]["fields"]]
            return dict(zip(names, row["values"], strict=True))
        return row
    fields = row.asDict()
    if "values" in fields and "schema" in fields:
        names = [field["name"] for field in fields["schema"]["fields"]]
        return dict(zip(names, fields["values"], strict=True))
    return fields


def _read(row: dict[str, Any], batch: int) -> Metrics:
    inputs = range(int(row["inputs"]))

    def each(name: str) -> tuple[int, ...]:
        return tuple(int(row[f"{name}_{stream}"]) for stream in inputs)

    sums = {name.removeprefix("shadow_"): row[name] for name in row if name.startswith("shadow_")}
    if row["exact"]:
        recall: tuple[float | None, ...] = (1.0, 1.0, 1.0)
    else:
        recall = estimate(sums, row["sample"]) or (None, None, None)
    return Metrics(
        batch,
        each("arrived"),
        each("late"),
        each("null"),
        int(row["no_time"]),
        each("expired"),
        each("evicted"),
        each("refused"),
        int(row["matched"]),
        int(row["held"]),
        int(row["bytes"]),
        *recall,
    )
