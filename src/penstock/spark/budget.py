"""Read a budget: a number of rows, or bytes such as "64 MB"."""

import re
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

from ..errors import BadInput

UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}
SIZE = re.compile(r"^\s*(\d{1,1000}(?:\.\d{1,1000})?)\s*([kmgt]?i?b)\s*$", re.IGNORECASE)
MOST = 2**53  # rows or bytes: more than any cluster has, and every share of it is exact


class Budget(NamedTuple):
    """How much may be held: rows or bytes; None for all that the window needs."""

    amount: int | None
    in_bytes: bool


def read_budget(budget: int | str | None, buckets: int, argument: str = "budget") -> Budget:
    """Return the budget, refusing one that leaves a bucket without a row.

    >>> read_budget("64 MB", buckets=4)
    Budget(amount=67108864, in_bytes=True)
    """
    if budget is None:
        return Budget(None, False)
    amount = _amount(budget, argument)
    if amount < max(1, buckets):
        raise BadInput(
            f"{argument} must be at least 1 per bucket ({buckets} of them), got {budget!r}; raise "
            "it, or pass fewer buckets="
        )
    if amount > MOST:
        raise BadInput(
            f"{argument} must be at most 2**53 rows, or as many bytes ('8192 TB'), got {budget!r}; "
            "lower it"
        )
    return Budget(amount, isinstance(budget, str))


def _amount(budget: Any, argument: str) -> int:
    """Return how many rows or bytes a budget is."""
    if isinstance(budget, str):
        size = SIZE.match(budget)
        if size is not None:
            unit = size.group(2).lower().replace("i", "")
            return int(Fraction(size.group(1)) * UNITS[unit])
    elif isinstance(budget, Integral) and not isinstance(budget, bool):
        return int(budget)
    raise BadInput(f"{argument} must be rows (45_000) or bytes ('64 MB'), got {budget!r}")
