"""A frame as the samplers see it: 64 bits that stand for the key, and the time as a number."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import BadInput
from .frames import EXACT, as_names, check_frame, check_keys, find_column, hashed_key, quote

KEY, TIME = "key", "time"
MICRO = 1_000_000  # microseconds in a second
DAY = 86_400 * MICRO
EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def keyed_rows(frame: DataFrame, key: str | list[str], time: str) -> DataFrame:
    """Return the columns `key`, 64 bits, and `time`, a number: both null where either is."""
    check_frame(frame, "given")
    keys = as_names(key, "key")
    for name in (*keys, time):
        find_column(frame, "given", name)
    check_keys(frame, "given", keys, "key")
    exact = len(keys) == 1 and isinstance(frame.schema[keys[0]].dataType, EXACT)
    number, when = hashed_key(keys, exact), _time(frame, time)
    there = number.isNotNull() & when.isNotNull()
    return frame.select(F.when(there, number).alias(KEY), F.when(there, when).alias(TIME))


def has_calendar(frame: DataFrame, time: str) -> bool:
    """Tell whether times are timestamps or dates, so that they are counted in microseconds."""
    kinds = (T.TimestampType, T.TimestampNTZType, T.DateType)
    return isinstance(frame.schema[time].dataType, kinds)


def _time(frame: DataFrame, name: str) -> Column:
    """Return times as numbers: of timestamps and dates the microseconds."""
    kind, column = frame.schema[name].dataType, F.col(quote(name))
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.TimestampNTZType):
        return F.expr(f"timestampdiff(MICROSECOND, {EPOCH}, {quote(name)})")
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
