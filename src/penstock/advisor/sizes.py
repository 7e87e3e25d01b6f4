"""What rows take in memory."""

from functools import cache

from ..core.gains import PAIRS, ROWS
from ..core.policy import CACHING, JOINING
from ..core.shape import Shape
from ..engines.footprint import SPARE, Line, join_footprint, join_line
from ..engines.kernel import Form
from ..engines.lookup import cache_line
from ..policies import AUTO, choose, families

EXACT = "fifo"  # stands for no policy at all, which remembers still less
# Spark: what its own join takes for a row in memory, beside the payload, with the default state
# store. Measured: 203 MB for 340,002 rows of 24 bytes in the third micro-batch, 596 bytes a row (in
# the first one 377: the store keeps older versions too).
SPARK_BYTES = 570
PAYLOAD = 24  # bytes, where nothing is known of the rows
NO_LIMIT = 1 << 60  # bytes


@cache
def _line(policy: str, problem: str, goal: str) -> Line:
    if problem == CACHING:
        return cache_line(choose(policy))
    return join_line(choose(policy), _form(goal), None)


def _form(goal: str) -> Form:
    return Form(Shape(), 1, False, False, True, goal == ROWS)


def held_bytes(
    rows: int, payload: float, problem: str, policy: str = EXACT, goal: str = PAIRS
) -> int:
    """Return what Penstock needs for so many rows."""
    chosen = choose(policy)
    if problem == JOINING and chosen.policy is AUTO:  # which tries others beside
        tried = families(JOINING, plain=True, windowed=True)
        split = bool(chosen.all_params["split"])
        taken = join_footprint(NO_LIMIT, chosen, _form(goal), None, tried, split, max(1, rows))
        return round(taken.fixed + rows * (taken.charge + payload))
    line = _line(policy, problem, goal)
    return round(line.fixed + rows * (line.slot * SPARE + line.scale + payload))


def spark_bytes(rows: float, payload: float) -> int:
    """Return what Spark's own join needs for so many rows."""
    return round(rows * (SPARK_BYTES + payload))
