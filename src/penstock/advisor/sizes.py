"""What rows take in memory."""

from functools import cache

from ..core.policy import CACHING
from ..core.shape import Shape
from ..engines.footprint import SPARE, Line, join_line
from ..engines.kernel import Form
from ..engines.lookup import cache_line
from ..policies import choose

EXACT = "fifo"  # stands for no policy at all, which remembers still less
# Spark: what its own join takes for a row in memory, beside the payload, with the default state
# store. Measured: 203 MB for 340,002 rows of 24 bytes in the third micro-batch, 596 bytes a row (in
# the first one 377: the store keeps older versions too).
SPARK_BYTES = 570
PAYLOAD = 24  # bytes, where nothing is known of the rows


@cache
def _line(policy: str, problem: str) -> Line:
    if problem == CACHING:
        return cache_line(choose(policy))
    return join_line(choose(policy), Form(Shape(), 1, False, False, True), None)


def slot_bytes(policy: str, problem: str) -> float:
    """Return what Penstock takes for each row of a budget beside its payload."""
    line = _line(policy, problem)
    return line.slot * SPARE + line.scale


def held_bytes(rows: float, payload: float, problem: str, policy: str = EXACT) -> int:
    """Return what Penstock needs for so many rows."""
    return round(_line(policy, problem).fixed + rows * (slot_bytes(policy, problem) + payload))


def spark_bytes(rows: float, payload: float) -> int:
    """Return what Spark's own join needs for so many rows."""
    return round(rows * (SPARK_BYTES + payload))
