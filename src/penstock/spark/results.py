"""Put results together: from row numbers to packets of rows."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .keys import really_equal
from .packets import to_ipc
from .plan import Plan
from .rows import Side, column_of

ROWS = 65_536  # in one packet


class Packet(NamedTuple):
    """Some results of one join."""

    join: int
    rows: bytes  # an Arrow IPC stream


class Outcome(NamedTuple):
    """What a micro-batch leaves behind in a bucket."""

    packets: list[Packet]
    totals: dict[str, float]  # counters since the query first started
    state: bytes | None  # None: as it was


class Results(NamedTuple):
    """What a micro-batch found."""

    packets: list[Packet]
    found: list[tuple[int, np.ndarray]]  # per join: the rows of its results, a column per leg

    @property
    def total(self) -> int:
        return sum(len(rows) for _, rows in self.found)


def gather(plan: Plan, sides: list[Side], rows: np.ndarray, joined: np.ndarray) -> Results:
    """Return the results as packets; `rows` holds positions within the sides, a column per leg."""
    packets: list[Packet] = []
    found = []
    for join in range(len(plan.joins)):
        mine = rows[joined == join] if len(plan.joins) > 1 else rows
        if not len(mine):
            continue  # a side that never saw a row does not know its columns
        same = really_equal(plan, join, sides, mine)
        mine = mine if same.all() else mine[same]
        found.append((join, mine))
        for first in range(0, len(mine), ROWS):
            part = _table(plan, join, sides, mine[first : first + ROWS])
            packets.append(Packet(join, to_ipc(part)))
    return Results(packets, found)


def _table(plan: Plan, join: int, sides: list[Side], rows: np.ndarray) -> pa.Table:
    leg = {stream: number for number, (stream, _) in enumerate(plan.joins[join])}
    columns = [
        column_of(plan.inputs[number], sides[number], name, rows[:, leg[number]])
        for number, name, _ in plan.output[join]
    ]
    return pa.Table.from_arrays(columns, names=[new for _, _, new in plan.output[join]])
