"""Counters in a query's progress: put there by `observe`, read back in whatever form, and shown."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

FIGURES = "figures"  # the sums of the counters, by name


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
    """Let the query's progress carry sums of counters, and facts that are the same everywhere.

    The sums are one map: with a sum for each counter a join would have 82 expressions in its plan,
    and Spark works the plan out anew in every micro-batch.
    """
    nothing = F.array_repeat(F.lit(0.0), len(counters))
    every = F.collect_list("counters")
    sums = F.aggregate(every, nothing, lambda a, b: F.zip_with(a, b, lambda x, y: x + y))
    figures = F.map_from_arrays(F.array(*map(F.lit, counters)), sums).alias(FIGURES)
    same = [F.max(F.lit(fact)).alias(n) for n, fact in facts.items()]
    return packets.observe(name, figures, *same, *more)


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
    fields = fields | (fields.get(FIGURES) or {})
    return Observed(fields, _field(progress, "batchId"))


def ran_batch(progress: Any) -> bool:
    """Tell whether a progress report is of a micro-batch that ran, not of a query that waits."""
    try:
        return "addBatch" in _field(progress, "durationMs")
    except (KeyError, AttributeError):
        return True


def _field(progress: Any, name: str) -> Any:
    return progress[name] if isinstance(progress, dict) else getattr(progress, name)


def one_a_line(figures: Any) -> str:
    """Return the fields of a dataclass with their values, one a line.

    >>> from penstock.engine.adapt.census import Ruling
    >>> print(one_a_line(Ruling({"rate": 3, "lru": 1}, {"lru": 0.98765}, 1200)))
    buckets   rate 3, lru 1
    scores    lru 0.988
    switches  1,200
    """
    names = [each.name for each in fields(figures)]
    width = max(map(len, names))
    return "\n".join(f"{name:{width}}  {_told(getattr(figures, name))}" for name in names)


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        between = " " if value and isinstance(value[0], str) else ", "  # a name with its figure
        return between.join(map(_told, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items()) or "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    if is_dataclass(value):
        parts = [(each.name, getattr(value, each.name)) for each in fields(value)]
        return "; ".join(f"{name}: {_told(part)}" for name, part in parts)
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:,}"
