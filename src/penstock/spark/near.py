"""The column of a band join: whose values must be near, and how near as the engine compares them.

Two rows match where Spark finds `abs(left - right) <= near` true. Whole numbers and decimals are
compared exactly, as numbers of their last digit; doubles as doubles. Spark rounds the difference of
two floats to 32 bits before it compares: the engine, which has 64, is given the largest difference
that such rounding brings to `near` at most.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import BadInput
from ..kernel.band import FARTHEST, MOST, WIDER
from .frames import EXACT, find_column

DIGITS = 18  # of a decimal, which then fits 64 bits
Near = Mapping[str | tuple[str, str], float | Decimal]


class NearColumn(NamedTuple):
    """The column by its names in both frames, and how near its values must be."""

    names: tuple[str, str]
    near: int | float  # as `kernel.band.Band` takes it
    said: str  # as a user writes it


def read_near(near: Near | None, left: DataFrame, right: DataFrame) -> NearColumn | None:
    """Return what must be near, refusing what cannot be compared; None: nothing must."""
    if near is None:
        return None
    if not isinstance(near, Mapping) or len(near) != 1:
        raise BadInput(
            "near must say of one column how far apart its values may lie, as {'price': 0.5}, or "
            f"{{('bid', 'ask'): 0.5}} where its names differ, got {near!r}"
        )
    ((column, span),) = near.items()
    names = (column, column) if isinstance(column, str) else tuple(column)
    if len(names) != 2:
        raise BadInput(f"near must name one column, or its two names, got {column!r}")
    for frame, who, name in zip((left, right), ("left", "right"), names, strict=True):
        find_column(frame, who, name)
    kind, other = left.schema[names[0]].dataType, right.schema[names[1]].dataType
    if kind != other:
        raise BadInput(
            f"column {names[0]!r} of the left frame and column {names[1]!r} of the right frame "
            f"must have one type, got {kind.simpleString()} and {other.simpleString()}; cast one "
            "of them"
        )
    is_number = isinstance(span, Real | Decimal) and not isinstance(span, bool)
    if not is_number or not 0 < span < math.inf:
        raise BadInput(f"near must be a number above 0, got {span!r} for {column!r}")
    said = column if isinstance(column, str) else names
    return NearColumn(names, _as_compared(names[0], kind, span), f"{{{said!r}: {span}}}")


def _as_compared(name: str, kind: T.DataType, span: Any) -> int | float:
    """Return how near values of a type must be in the engine's numbers."""
    if isinstance(kind, T.DoubleType):
        return float(span)
    if isinstance(kind, T.FloatType):
        return of_singles(float(span))
    # What is written counts, as it does for decimals: 0.3 is three tenths.
    exact = Fraction(span if isinstance(span, Integral | Decimal) else repr(float(span)))
    if isinstance(kind, T.LongType) and exact > MOST:
        raise BadInput(
            f"near must be at most {MOST} for a bigint column, got {span!r} for {name!r}"
        )
    if isinstance(kind, EXACT):
        return min(math.floor(exact), MOST)
    if isinstance(kind, T.DecimalType) and kind.precision <= DIGITS:
        return min(math.floor(exact * 10**kind.scale), MOST)  # no two of them are farther apart
    raise BadInput(
        f"near column {name!r} must be a number (a decimal of {DIGITS} digits at most), got "
        f"{kind.simpleString()}; cast it to double"
    )


def near_span(kind: T.DataType, near: int | float) -> float | Decimal:
    """Return how near values of a type must be, as `read_near` takes it, from `NearColumn.near`.

    Of whole numbers and decimals half of the last digit more, which changes nothing and is above 0.

    >>> near_span(T.DecimalType(9, 2), 30)
    Decimal('0.305')
    """
    if isinstance(near, float):
        return near
    exact = Decimal(min(near, MOST)) + Decimal("0.5")
    return exact.scaleb(-kind.scale) if isinstance(kind, T.DecimalType) else exact


def are_near(one: Column, other: Column, kind: T.DataType, near: int | float) -> Column:
    """Return whether the engine finds two values of a type near, however far apart they are."""
    if isinstance(near, float):
        one, other = one.cast("double"), other.cast("double")
    elif isinstance(kind, EXACT):
        one, other = one.cast("decimal(20,0)"), other.cast("decimal(20,0)")
    return F.abs(one - other) <= F.lit(near_span(kind, near))


def cell_of(value: Column, kind: T.DataType, near: int | float) -> Column:
    """Return the cell of a value: that of one which is near is the same or beside it."""
    far: float = FARTHEST
    if isinstance(near, float):
        width = F.lit(max(near * WIDER, float(np.finfo(np.float64).tiny)))
        cell = value.cast("double") / width
    else:
        if isinstance(kind, T.DecimalType):
            value = value * F.lit(Decimal(10) ** kind.scale)
        width = F.lit(max(1, min(near, MOST))).cast("long")
        cell = F.call_function("div", value.cast("long"), width)
        far = 2**62  # so that the cells beside it are numbers too
    return F.floor(F.least(F.greatest(cell, F.lit(-far)), F.lit(far)))


def of_singles(near: float) -> float:
    """Return the largest difference that is at most `near` when it is rounded to 32 bits.

    >>> of_singles(0.5) > 0.5, float(np.float32(of_singles(0.5)))
    (True, 0.5)
    """
    below = np.float32(near)
    if float(below) > near:
        below = np.nextafter(below, np.float32(0))
    above = np.nextafter(below, np.float32(np.inf))
    if not np.isfinite(above):
        return near
    middle = (float(below) + float(above)) / 2  # a double; what is beyond rounds to above
    return middle if float(np.float32(middle)) <= near else math.nextafter(middle, 0)
