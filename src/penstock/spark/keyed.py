"""A frame as the samplers see it: 64 bits that stand for the key, and the time as a number."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import BadInput
from .frames import EXACT, as_names, check_columns, check_keys, hashed_key, is_exact, quote

KEY, TIME = "key", "time"
MICRO = 1_000_000  # microseconds in a second
DAY = 86_400 * MICRO
EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def keyed_rows(frame: DataFrame, key: str | list[str], time: str) -> DataFrame:
    """Return the columns `key`, 64 bits, and `time`, a number: both null where either is."""
    keys = as_names(key, "key")
    check_columns(frame, "given", (*keys, time))
    check_keys(frame, "given", keys, "key")
    number, when = hashed_key(frame, keys, is_exact(frame, keys)), _time(frame, time)
    there = number.isNotNull() & when.isNotNull()
    return frame.select(F.when(there, number).alias(KEY), F.when(there, when).alias(TIME))


def has_calendar(frame: DataFrame, time: str) -> bool:
    """Tell whether times are timestamps or dates, so that they are counted in microseconds."""
    kinds = (T.TimestampType, T.TimestampNTZType, T.DateType)
    return isinstance(frame.schema[time].dataType, kinds)


def since_epoch(name: str) -> Column:
    """Return timestamps without a zone, read as UTC, as microseconds."""
    return F.expr(f"timestampdiff(MICROSECOND, {EPOCH}, {quote(name)})")


def _time(frame: DataFrame, name: str) -> Column:
    """Return times as numbers: of timestamps and dates the microseconds."""
    kind, column = frame.schema[name].dataType, F.col(quote(name))
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.TimestampNTZType):
        return since_epoch(name)
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("long") * F.lit(DAY)
    if isinstance(kind, EXACT):
        return column.cast("long")
    if isinstance(kind, T.FloatType | T.DoubleType | T.DecimalType):
        number = column.cast("double")
        return F.when(~F.isnan(number), number)
    raise BadInput(
        f"time column {name!r} must hold timestamps, dates or numbers, got {kind.simpleString()};"
        " cast it with to_timestamp"
    )
