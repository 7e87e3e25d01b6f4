"""Interval caches on Spark: readings thinned to refreshes, and bounded answers from intervals.

`thin` makes refreshes of readings. Here are the latest interval of each key, and aggregates.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import BadInput
from ..numeric import shown
from ..precision.queries import Query, refreshes
from ..precision.queries import answer as answered
from ..relations.fetching import distinct
from . import frames
from .frames import Names, arrow_schema, fields_of, free_name, quote
from .metrics import ThinMetrics
from .runtime.arrow import first_row, fitted
from .runtime.thin_bucket import HIGH, LOW
from .session import check_workers, wants_wide_groups
from .thin import as_double, check_number, rounded_where, thin

__all__ = ["ThinMetrics", "bounded_agg", "latest", "thin"]


def latest(refreshes: DataFrame, key: Names, time: str) -> DataFrame:
    """Return the interval of each key that `thin` sent last: key, time, low, high.

    Of refreshes of one key and one time the later one cannot be told, so they count together, from
    the lowest low to the highest high: that contains the value whichever is the last.
    """
    keys = frames.as_names(key, "key")
    frames.check_columns(refreshes, "refreshes", (*keys, time, LOW, HIGH))
    frames.check_keys(refreshes, "refreshes", keys, "key")
    frames.refuse_result_names((*keys, time), (LOW, HIGH))
    frames.refuse_stream(refreshes, "latest", "write the refreshes to a table and read that")
    groups = [F.col(quote(name)) for name in keys]
    when, ends = F.col(quote(time)), (F.min(LOW).alias(LOW), F.max(HIGH).alias(HIGH))
    together = refreshes.groupBy(*groups, when).agg(*ends)
    last = free_name("last", keys)
    newest = F.max_by(F.struct(when, LOW, HIGH), when).alias(last)
    return together.groupBy(*groups).agg(newest).select(*groups, f"{last}.*")


ANSWER = ("low", "high", "within", "refresh")


def bounded_agg(
    df: DataFrame,
    kind: str,
    within: float,
    *,
    relative: bool = False,
    at: float | None = None,
    by: Names = (),
    key: str = "key",
    low: str = "low",
    high: str = "high",
    cost: str | None = None,
) -> DataFrame:
    """Answer an aggregate from intervals, and name the keys to refresh if it is too wide.

    Parameters:
        df: a batch frame with one interval per key, such as `latest` gives.
        kind: `sum`, `avg`, `max`, `min`, `count` (of values above `at`) or `quantile` (`at=0.5`).
        within: how wide the answer may be.
        relative: `within` is a share of the answer itself.
        by: answer for each value of this column, or of several, by itself.
        key: the column of the keys, of which none may be null.
        low: the column of the lower ends of the intervals.
        high: the column of the upper ends. An unknown value is -infinity to infinity. Bigints and
            decimals that no double equals are rounded outward.
        cost: a column that says what it costs to refresh a key; all the same by default.

    Returns the columns `by`, then `low` and `high`, between which the truth lies; `within`, whether
    that is narrow enough, but for the rounding of these two; and `refresh`, the cheapest set of
    keys after whose refresh it is sure to be. Where a relative answer's bounds contain 0 that is
    only the widest: refresh it, and ask again. The choice is that of `penstock.precision.queries`.
    The intervals of a group are brought together in one worker, about 50 bytes for each; a frame
    without rows has no answer.
    """
    query = Query(kind, within, relative, at).checked()
    groups = frames.as_names(by, "by") if by else ()
    numbers = (low, high) if cost is None else (low, high, cost)
    frames.check_columns(df, "intervals", (key, *numbers, *groups))
    way_out = "write the refreshes to a table and ask for its latest intervals"
    frames.refuse_stream(df, "bounded_agg", way_out)
    for name in numbers:
        check_number(df, "intervals", name)
    frames.check_keys(df, "intervals", groups, "by")
    frames.refuse_result_names(groups, ANSWER)
    check_workers(df.sparkSession)
    ends = list(enumerate((low, high)))
    # Names may hold dots, which applyInArrow cannot take.
    short = {name: f"g{place}" for place, name in enumerate(groups)}
    rows = df.select(
        *(F.col(quote(name)).alias(short[name]) for name in groups),
        F.col(quote(key)).alias("key"),
        *(rounded_where(name, df.schema[name].dataType).alias(f"r{i}") for i, name in ends),
        *(as_double(name).alias(f"n{i}") for i, name in enumerate(numbers)),
    )
    kinds = {short[name]: df.schema[name].dataType for name in groups}
    told = T.DoubleType(), T.DoubleType(), T.BooleanType(), T.ArrayType(df.schema[key].dataType)
    answers = fields_of(dict(zip(ANSWER, told, strict=True)), nullable=False)
    schema = T.StructType(fields_of(kinds).fields + answers.fields)
    arrow = arrow_schema(schema, wants_wide_groups(df.sparkSession))
    answer = _answerer(query, len(groups), key, arrow)
    answered = rows.groupBy(*short.values()).applyInArrow(answer, schema)
    return answered.toDF(*groups, *ANSWER)


def _answerer(query: Query, groups: int, name: str, schema: pa.Schema) -> Callable:
    """Return the function for `applyInArrow` that answers for one group.

    Groups and keys come in the session's time zone, and Spark wants them in UTC.
    """

    def answer(group: tuple, table: pa.Table) -> pa.Table:
        keys = table.column("key")
        low_rounded, high_rounded, low, high, *costs = (
            column.to_numpy() for column in table.columns[groups + 1 :]
        )
        low = np.where(low_rounded, np.nextafter(low, -np.inf), low)
        high = np.where(high_rounded, np.nextafter(high, np.inf), high)
        _check_intervals(name, keys, low, high, *costs)
        least, most, within = answered(query, low, high)
        chosen = refreshes(query, low, high, *costs)
        wanted = keys.take(pa.array(chosen, pa.int64())).combine_chunks()
        columns: list[Any] = [pa.repeat(part, 1) for part in group]
        columns += [pa.array([each]) for each in (least, most, within)]
        columns.append(pa.ListArray.from_arrays(pa.array([0, len(wanted)], pa.int32()), wanted))
        names = [*(f"g{place}" for place in range(groups)), *ANSWER]
        return fitted(pa.Table.from_arrays(columns, names=names), schema)

    return answer


def _check_intervals(
    name: str, keys: Any, low: np.ndarray, high: np.ndarray, *costs: np.ndarray
) -> None:
    """Refuse what is no interval: an answer that left it out might miss the truth."""
    if keys.null_count:
        raise BadInput(
            f"key column {name!r} must have a value in every row, got null in {keys.null_count:,}"
            f" of {len(keys):,}; fill it in or drop these rows"
        )
    bad = ~((low <= high) & (low < np.inf) & (high > -np.inf))
    for cost in costs:
        bad |= ~(cost >= 0)
    if bad.any():
        row = int(np.argmax(bad))
        (key,) = first_row(pa.table({name: keys.slice(row, 1)}))
        said = f", cost {costs[0][row]}" if costs else ""
        raise BadInput(
            "an interval must have low <= high, not both of them infinite alike, and a cost of at "
            f"least 0; that of key {shown(key)} has low {low[row]}, high {high[row]}{said}"
        )
    first, _ = distinct(pa.table({name: keys}))
    if len(first) < len(keys):
        raise BadInput(
            f"bounded_agg takes one interval per key, got {len(keys):,} rows of {len(first):,} "
            "keys; take the last of each: penstock.spark.precision.latest"
        )
