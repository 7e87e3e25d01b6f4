"""Thin a stream of readings to the intervals that bound them: DataFrames in, a DataFrame out."""

import os
import warnings
from collections.abc import Iterable
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import BadInput
from ..kernel.durations import microseconds
from ..precision.interval_source import check_limits
from ..precision.rule import make_costs
from ..precision.rules import tune
from .checks import Span, check_upstream, text, whole
from .figures import THIN, observed_thin
from .frames import (
    EXACT,
    Input,
    Names,
    are_streams,
    as_names,
    check_columns,
    check_same_types,
    fields_of,
    free_name,
    quote,
    read_input,
    refuse_result_names,
)
from .plan import placed
from .runtime.journal import check_checkpoint
from .runtime.operator import Work, run_buckets
from .runtime.packets import pack
from .runtime.result_rows import rows_of
from .runtime.thin_bucket import (
    COST,
    HIGH,
    KIND,
    LOW,
    THIN_COUNTERS,
    ThinBucket,
    ThinPlan,
    thin_kernels,
)
from .session import check_settings

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
    """Reduce a stream of readings to the refreshes that a source would send, by key.

    Each key is a source: it sends an interval, and another one once a reading lies outside. Also as
    `updates.transform(thin, "sensor", ...)`. Streams and batches, classic Spark and Spark Connect.

    Parameters:
        updates: the frame of the readings, a stream or a batch.
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

    Keys other than one whole number are distinguished by 64 bits of hash: of a million keys two are
    taken for one with a chance of 1 in 37 million.
    """
    if not isinstance(costs, list | tuple) or len(costs) != 2:
        raise BadInput(f"costs must be two numbers, C_vr and C_qr, got {costs!r}")
    if isinstance(limits, str) or not isinstance(limits, Iterable):
        raise BadInput(f"limits must be some numbers, such as [10, 30], got {limits!r}")
    keys = as_names(key, "key")
    rounded = free_name("rounded", (*keys, value, time))
    frames = {"updates": _read(updates, "updates", keys, value, time, rounded)}
    refuse_result_names((*keys, time), (LOW, HIGH, KIND, COST))
    if queries is not None:
        frames["queries"] = _read(queries, "queries", keys, DELTA, time)
    inputs = {who: read_input(frame, who, keys, time) for who, frame in frames.items()}
    check_same_types(inputs)
    streaming = are_streams(frames)
    check_settings(updates.sparkSession, streaming)
    plan = ThinPlan(
        readings=inputs["updates"],
        queries=inputs.get("queries"),
        value=value,
        rounded=rounded if rounded in frames["updates"].columns else None,
        delta=DELTA,
        rule=tune(text(rule, "rule")).text,
        costs=make_costs(*costs),
        limits=check_limits(limits),
        silence=_silence(max_silence),
        seed=whole(seed, "seed", 0),
        **placed(updates.sparkSession, buckets, checkpoint),
    )
    plan.thinner()  # refuses what does not go together
    if queries is None and not rule.startswith("static"):
        warnings.warn(
            f"without queries= nothing narrows an interval, and rule {rule!r} lets them only grow; "
            "pass queries=, or rule='static:width=...'",
            stacklevel=2,
        )
    check_checkpoint(updates.sparkSession, checkpoint, plan, streaming)
    return _run(plan, list(frames.values()), list(inputs.values()))


def _read(
    frame: DataFrame,
    who: str,
    keys: tuple[str, ...],
    number: str,
    time: str,
    rounded: str | None = None,
) -> DataFrame:
    """Return the columns that matter, the number as a double.

    rounded: the name for a column that says where no double equals the number; it is left out
        where that cannot be.
    """
    check_columns(frame, who, (*keys, number, time))
    if len({*keys, number, time}) < len(keys) + 2:
        raise BadInput(
            f"key, {number!r} and time must be different columns of the {who} frame, got "
            f"{', '.join((*keys, number, time))}"
        )
    check_number(frame, who, number)
    kind = frame.schema[number].dataType
    if frame.isStreaming:
        check_upstream(frame, who, figures=THIN)
    columns = [F.col(quote(name)) for name in (*keys, time)]
    columns.append(as_double(number).alias(number))
    if rounded is not None and can_round(kind):
        columns.append(rounded_where(number, kind).alias(rounded))
    return frame.select(*columns)


def check_number(frame: DataFrame, who: str, name: str) -> None:
    """Refuse a column that does not hold numbers."""
    kind = frame.schema[name].dataType
    if not isinstance(kind, NUMBERS):
        raise BadInput(
            f"column {name!r} of the {who} frame must hold numbers, got {kind.simpleString()}; "
            "cast it to double"
        )


def _silence(span: Span | None) -> int | None:
    if span is None:
        return None
    silence = microseconds(span, "max_silence")
    if silence == 0:
        raise BadInput(f"max_silence must be greater than 0, got {span!r}")
    return silence


def _run(plan: ThinPlan, frames: list[DataFrame], inputs: list[Input]) -> DataFrame:
    packets = pack(frames, inputs, plan.labels)
    kernels = thin_kernels(plan, frames[0].sparkSession)
    results = run_buckets(packets, Work(ThinBucket, plan, THIN_COUNTERS, kernels=kernels))
    if results.isStreaming:
        results = observed_thin(results, THIN_COUNTERS, plan.checkpoint)
    names = (*plan.readings.keys, str(plan.readings.time))
    kinds = {name: frames[0].schema[name].dataType for name in names}
    kinds |= {LOW: T.DoubleType(), HIGH: T.DoubleType(), KIND: T.StringType(), COST: T.DoubleType()}
    return rows_of(results, fields_of(kinds))


LARGEST = 2**53  # up to here every whole number is a double


def as_double(name: str) -> Column:
    """Return a column as doubles."""
    return F.col(quote(name)).cast("double")


def can_round(kind: T.DataType) -> bool:
    """Tell whether a column of this type may hold values that no double equals."""
    return isinstance(kind, T.LongType | T.DecimalType)


def rounded_where(name: str, kind: T.DataType) -> Column:
    """Return which values of a column `as_double` rounds, and perhaps some that it does not."""
    value = F.col(quote(name))
    exact = F.lit(True)
    if isinstance(kind, T.LongType):
        exact = value.between(-LARGEST, LARGEST)
    elif isinstance(kind, T.DecimalType):
        exact = _is_double(value, kind)
    return F.coalesce(~exact, F.lit(False))


def _is_double(value: Column, kind: T.DecimalType) -> Column:
    """Return which decimals are doubles: multiples of 2 ** -scale that are small enough."""
    unit = F.lit(Decimal((0, tuple(map(int, str(5**kind.scale))), -kind.scale)))  # 2 ** -scale
    whole = value % unit == 0 if kind.scale else F.lit(True)
    if 2**kind.scale * 10 ** (kind.precision - kind.scale) <= LARGEST:
        return whole
    most = F.lit(LARGEST // 2**kind.scale).cast(kind)
    return whole & value.between(-most, most)
