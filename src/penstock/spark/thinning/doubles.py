"""Columns of numbers as doubles, and which of their values no double equals.

Spark's cast takes the nearest double. So a value that is rounded lies between the neighbours of
that double, which is all that is needed to put a bound around it.
"""

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..plan import quote

LARGEST = 2**53  # up to here every whole number is a double


def as_double(name: str) -> Column:
    """Return a column as doubles."""
    return F.col(quote(name)).cast("double")


def can_round(kind: T.DataType) -> bool:
    """Tell whether a column of this type may hold values that no double equals."""
    return isinstance(kind, T.LongType | T.DecimalType)


def rounded(name: str, kind: T.DataType) -> Column:
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
