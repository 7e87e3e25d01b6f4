"""Compare real keys: equal hashes alone never make a result."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .plan import Plan
from .rows import Side, column_of


def really_equal(plan: Plan, join: int, sides: list[Side], rows: np.ndarray) -> np.ndarray:
    """Tell which results of a join have equal keys in truth; `rows` has a column per leg."""
    streams = [stream for stream, _ in plan.joins[join]]
    first = streams[0]
    same = np.ones(len(rows), bool)
    if plan.inputs[first].exact:
        return same
    for leg, stream in enumerate(streams[1:], 1):
        pairs = zip(plan.inputs[first].keys, plan.inputs[stream].keys, strict=True)
        for mine, theirs in pairs:
            left = column_of(plan.inputs[first], sides[first], mine, rows[:, 0])
            right = column_of(plan.inputs[stream], sides[stream], theirs, rows[:, leg])
            same &= equal(left, right)
    return same


def equal(left: Any, right: Any) -> np.ndarray:
    """Compare two columns as Spark compares keys: NaN equals NaN, and 0.0 equals -0.0.

    >>> equal(pa.array([0.0, math.nan, 1.0]), pa.array([-0.0, math.nan, 2.0])).tolist()
    [True, True, False]
    """
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([_same(a, b) for a, b in pairs], bool)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same.to_numpy(zero_copy_only=False) if len(same) else np.zeros(0, bool)


def _same(a: Any, b: Any) -> bool:
    """Compare two nested values; inside of them a null equals a null, as in Spark."""
    if isinstance(a, dict):
        pairs = zip(a.values(), b.values(), strict=True)  # by place: names may differ in case
        return all(_same(x, y) for x, y in pairs)
    if isinstance(a, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)
