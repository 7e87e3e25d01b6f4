"""Read a budget: a number of rows, or bytes such as "64 MB"."""

import re
from typing import NamedTuple

from ..errors import BadInput

UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}
SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?b)\s*$", re.IGNORECASE)


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
    if isinstance(budget, str):
        size = SIZE.match(budget)
        if size is None:
            raise BadInput(f"{argument} must be rows (45_000) or bytes ('64 MB'), got {budget!r}")
        unit = size.group(2).lower().replace("i", "")
        amount, in_bytes = int(float(size.group(1)) * UNITS[unit]), True
    elif isinstance(budget, int) and not isinstance(budget, bool):
        amount, in_bytes = budget, False
    else:
        raise BadInput(f"{argument} must be rows (45_000) or bytes ('64 MB'), got {budget!r}")
    if amount < max(1, buckets):
        raise BadInput(
            f"{argument} must be at least 1 per bucket ({buckets} of them), got {budget!r}; raise "
            "it, or pass fewer buckets="
        )
    return Budget(amount, in_bytes)
