"""Put results together: from row numbers to packets of rows."""

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .keys import really_equal
from .packets import to_ipc
from .pieces import BYTES, ROWS, even_pieces, pieces
from .plan import Plan
from .rows import Side, column_of, row_bytes


class Packet(NamedTuple):
    """Some results of one join."""

    join: int
    rows: bytes  # an Arrow IPC stream


class Ending(NamedTuple):
    """What a bucket has to say once it has made its last packet."""

    totals: dict[str, float]  # counters since the query first started
    state: bytes | None  # None: as it was
    hottest: str | None = None  # its most frequent keys, as JSON


class Outcome(NamedTuple):
    """What a micro-batch leaves behind in a bucket."""

    packets: list[Packet]
    totals: dict[str, float]
    state: bytes | None
    hottest: str | None = None


class MicroBatch(NamedTuple):
    """What comes for a bucket in one micro-batch."""

    packets: list[tuple[int, bytes]]  # (side, rows) in the order of their packing
    latest: Sequence[int] | None = None  # the latest time of each side in all buckets
    digests: Sequence[bytes] = ()  # of all packets of all buckets, where these share a budget


Packets = Generator[Packet, None, Ending]  # one by one, so that they need not all be in memory


class Streaming:
    """A bucket that makes its packets one by one."""

    def stream(self, batch: MicroBatch) -> Packets:
        """Take the packets of one micro-batch."""
        raise NotImplementedError

    def take(
        self,
        packets: list[tuple[int, bytes]],
        latest: Sequence[int] | None = None,
        digests: Sequence[bytes] = (),
    ) -> Outcome:
        """Take the packets of one micro-batch and return all that comes out of it together."""
        made: list[Packet] = []
        stream = self.stream(MicroBatch(packets, latest, digests))
        while True:
            try:
                made.append(next(stream))
            except StopIteration as end:
                return Outcome(made, *end.value)


class Results(NamedTuple):
    """Some of what a micro-batch found."""

    packets: list[Packet]
    found: list[tuple[int, np.ndarray]]  # per join: the rows of its results, a column per leg

    @property
    def total(self) -> int:
        return sum(len(rows) for _, rows in self.found)


class Gatherer:
    """Makes packets of bounded size of the results of one micro-batch, whatever their fan-out."""

    def __init__(self, plan: Plan, sides: list[Side]):
        self.plan = plan
        self.sides = sides
        self._sizes: list[np.ndarray | None] = [None] * len(sides)

    def gather(self, rows: np.ndarray, joined: np.ndarray) -> Iterator[Results]:
        """Return results a packet at a time; `rows` holds positions within the sides, a column
        per leg."""
        for join in range(len(self.plan.joins)):
            mine = rows[joined == join] if len(self.plan.joins) > 1 else rows
            for piece in self._pieces(join, mine):
                yield self._packet(join, mine[piece])

    def _packet(self, join: int, rows: np.ndarray) -> Results:
        same = really_equal(self.plan, join, self.sides, rows)
        rows = rows if same.all() else rows[same]
        if not len(rows):
            return Results([], [])
        table = _table(self.plan, join, self.sides, rows)
        return Results([Packet(join, to_ipc(table))], [(join, rows)])

    def _pieces(self, join: int, rows: np.ndarray) -> Iterator[slice]:
        """Cut results into pieces that fit into a packet."""
        if not len(rows):
            return iter(())  # a side that never saw a row does not know its columns
        streams = [stream for stream, _ in self.plan.joins[join]]
        legs = [(leg, self._row_bytes(stream)) for leg, stream in enumerate(streams)]
        largest = sum(int(sizes.max()) for _, sizes in legs)
        if min(len(rows), ROWS) * largest <= BYTES:
            return even_pieces(len(rows), ROWS)
        return pieces(sum(sizes[rows[:, leg]] for leg, sizes in legs), ROWS, BYTES)

    def _row_bytes(self, stream: int) -> np.ndarray:
        """Return about how many bytes each row of a side adds to a result."""
        sizes = self._sizes[stream]
        if sizes is None:
            side = self.sides[stream]
            sizes = row_bytes(side.payload, len(side.key)) + 16  # the key and the time
            self._sizes[stream] = sizes
        return sizes


def _table(plan: Plan, join: int, sides: list[Side], rows: np.ndarray) -> pa.Table:
    leg = {stream: number for number, (stream, _) in enumerate(plan.joins[join])}
    columns = [
        column_of(plan.inputs[number], sides[number], name, rows[:, leg[number]])
        for number, name, _ in plan.output[join]
    ]
    return pa.Table.from_arrays(columns, names=[new for _, _, new in plan.output[join]])
