"""Thin a stream of readings to the intervals that bound them: DataFrames in, a DataFrame out."""

import os
import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...core.durations import microseconds
from ...errors import BadInput
from ...precision.costs import make_costs
from ...precision.limits import check_limits
from ...precision.rules import tune
from ..assemble import Span, pack
from ..buckets import labels
from ..checkpoint import check_checkpoint
from ..checks import bucket_count, text, whole
from ..observe import observed
from ..operator import Work, run_buckets
from ..plan import EXACT, Input, Names, as_names, check_frame, find_column, quote, read_input
from ..session import check_settings, partitions
from ..unpack import unpack
from ..upstream import check_upstream
from .bucket import ThinBucket
from .doubles import as_double, can_round
from .doubles import rounded as where_rounded
from .figures import COUNTERS, THIN
from .plan import ThinPlan
from .rows import COST, HIGH, KIND, LOW, QUERIES, READINGS

DEFAULT = "settling"
DELTA = "delta"
NUMBERS = (*EXACT, T.FloatType, T.DoubleType, T.DecimalType)


def thin(
    updates: DataFrame,
    key: Names,
    value: str,
    time: str,
    *,
    queries: DataFrame | None = None,
    rule: str = DEFAULT,
    costs: tuple[float, float] = (1.0, 2.0),
    limits: Iterable[float] = (),
    max_silence: Span | None = None,
    buckets: int | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Keep of a stream of readings the refreshes that a source would send, by key.

    Each key is a source: it sends an interval, and another one once a reading lies outside. Also as
    `updates.transform(thin, "sensor", ...)`. Streams and batches, classic Spark and Spark Connect.

    Parameters:
        key: the column that names the source, or several.
        value: the column of the readings, numbers. Of a bigint or a decimal that no double equals
            both neighbours of the nearest double are inside the interval.
        time: the timestamp column. The readings of a key are taken in the order of time, those of
            one time as they came; one that is older than the key's last reading of an earlier
            micro-batch is late: it is counted and dropped.
        queries: a frame with the columns of the key, of the time, and `delta`: someone needs the
            value at that time within so much. If the interval is wider it is refreshed.
        rule: how widths are chosen; see `penstock.precision.rules`.
        costs: C_vr and C_qr: of a refresh that the value brings about, and a query.
        limits: values that no interval may straddle.
        max_silence: a reading so long after the last refresh of its key is sent in any case, and a
            query later than that does not trust the interval. A key without readings stays silent.
        buckets: into how many parts the keys are split; by default one per shuffle partition,
            and 32 at most.
        seed: where all randomness comes from.
        checkpoint: the path that the query will be started from. A checkpoint that another query
            has written is then refused here; else only the first micro-batch refuses it.

    Returns the columns of the key and the time, then `low`, `high`, `kind` and `cost`. A kind is
    `first`; `above` or `below`, where the value left its interval; `spoke`, after a long silence;
    `asked`, by a query.

    Keys other than one whole number are told apart by 64 bits of hash: of a million keys two are
    taken for one with a chance of 1 in 37 million.
    """
    keys = as_names(key, "key")
    rounded = _free_name((*keys, value, time))
    readings = _read(updates, "updates", keys, value, time, rounded)
    plan = ThinPlan(
        readings=_describe(readings, "updates", keys, time),
        queries=None if queries is None else _check_queries(updates, queries, keys, time),
        value=value,
        rounded=rounded if rounded in readings.columns else None,
        delta=DELTA,
        rule=tune(text(rule, "rule")).text,
        costs=make_costs(*_pair(costs)),
        limits=check_limits(_some(limits)),
        silence=_silence(max_silence),
        seed=whole(seed, "seed", 0),
        **_where(updates, buckets),
    )
    plan.thinner()  # refuses what does not go together
    if queries is None and not rule.startswith("static"):
        warnings.warn(
            f"without queries= nothing narrows an interval, and rule {rule!r} lets them only grow; "
            "pass queries=, or rule='static:width=...'",
            stacklevel=2,
        )
    check_checkpoint(
        updates.sparkSession, checkpoint, plan.fingerprint, "thin", updates.isStreaming
    )
    asked = None if queries is None else _read(queries, "queries", keys, DELTA, time)
    return _run(plan, readings, asked)


def _read(
    frame: DataFrame,
    who: str,
    keys: tuple[str, ...],
    number: str,
    time: str,
    rounded: str | None = None,
) -> DataFrame:
    """Return the columns that matter, the number as a double.

    rounded: the name for a column that tells where no double equals the number; it is left out
        where that cannot be.
    """
    check_frame(frame, who)
    for name in (*keys, number, time):
        find_column(frame, who, name)
    if len({*keys, number, time}) < len(keys) + 2:
        raise BadInput(
            f"key, {number!r} and time must be different columns of the {who} frame, got "
            f"{', '.join((*keys, number, time))}"
        )
    kind = frame.schema[number].dataType
    if not isinstance(kind, NUMBERS):
        raise BadInput(
            f"column {number!r} of the {who} frame must hold numbers, got {kind.simpleString()}; "
            "cast it to double"
        )
    if frame.isStreaming:
        check_upstream(frame, who)
    columns = [F.col(quote(name)) for name in (*keys, time)]
    columns.append(as_double(number).alias(number))
    if rounded is not None and can_round(kind):
        columns.append(where_rounded(number, kind).alias(rounded))
    return frame.select(*columns)


def _free_name(taken: tuple[str, ...]) -> str:
    """Return a name that no other column has."""
    name, known = "rounded", {str(each).lower() for each in taken}
    while name in known:
        name += "_"
    return name


def _describe(frame: DataFrame, who: str, keys: tuple[str, ...], time: str) -> Input:
    for name in (*keys, time):
        if name.lower() in (LOW, HIGH, KIND, COST):
            raise BadInput(
                f"column {name!r} of the {who} frame has the name of a result; rename it"
            )
    return read_input(frame, who, keys, time)


def _check_queries(
    updates: DataFrame, queries: DataFrame, keys: tuple[str, ...], time: str
) -> Input:
    asked = _read(queries, "queries", keys, DELTA, time)
    if updates.isStreaming != queries.isStreaming:
        still = "queries" if updates.isStreaming else "updates"
        raise BadInput(
            f"both frames must be streams or none, and the {still} frame is not; read it with "
            "readStream"
        )
    for name in (*keys, time):
        kinds = [frame.schema[name].dataType.simpleString() for frame in (updates, queries)]
        if kinds[0] != kinds[1]:
            raise BadInput(
                f"column {name!r} must have one type in both frames, got {kinds[0]} in the updates "
                f"frame and {kinds[1]} in the queries frame; cast one of them"
            )
    return read_input(asked, "queries", keys, time)


def _pair(costs: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(costs, list | tuple) or len(costs) != 2:
        raise BadInput(f"costs must be two numbers, C_vr and C_qr, got {costs!r}")
    return costs[0], costs[1]


def _some(limits: Iterable[float]) -> Iterable[float]:
    if isinstance(limits, str) or not isinstance(limits, Iterable):
        raise BadInput(f"limits must be some numbers, such as [10, 30], got {limits!r}")
    return limits


def _silence(span: Span | None) -> int | None:
    if span is None:
        return None
    silence = microseconds(span, "max_silence")
    if silence == 0:
        raise BadInput(f"max_silence must be longer than nothing, got {span!r}")
    return silence


def _where(updates: DataFrame, buckets: int | None) -> dict[str, Any]:
    check_settings(updates.sparkSession)
    parts = partitions(updates.sparkSession)
    count = bucket_count(buckets, parts)
    return {"buckets": count, "labels": tuple(labels(count, parts)), "partitions": parts}


def _run(plan: ThinPlan, readings: DataFrame, queries: DataFrame | None) -> DataFrame:
    packets = pack(readings, plan.readings, READINGS, plan.labels)
    if queries is not None and plan.queries is not None:
        packets = packets.unionByName(pack(queries, plan.queries, QUERIES, plan.labels))
    work = Work(partial(ThinBucket, plan), plan.labels, 2, COUNTERS)
    results = run_buckets(packets, work, readings.isStreaming)
    if readings.isStreaming:
        results = observed(results, THIN, COUNTERS, {"inputs": 1})
    fields = [readings.schema[name] for name in (*plan.readings.keys, str(plan.readings.time))]
    schema = T.StructType(
        [
            *(T.StructField(field.name, field.dataType) for field in fields),
            *(T.StructField(name, T.DoubleType()) for name in (LOW, HIGH)),
            T.StructField(KIND, T.StringType()),
            T.StructField(COST, T.DoubleType()),
        ]
    )
    return results.select("join", "packet").mapInArrow(unpack, schema)
