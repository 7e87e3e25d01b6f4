"""The rows that a bucket holds, by number: immutable Arrow segments, which are never sorted.

The engine knows a row by its number. Rows that came together are one segment: their payload as a
table, and beside it a few NumPy columns that the bucket reads itself. A row that the engine has
dropped stays in its segment until all of that has expired, or until too many rows were dropped and
the segments are rebuilt from the others. Small segments are merged, so that there are few of them.
In the long run nothing here costs more than the rows that come and those that are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .arrow import concatenated, pieces, row_bytes

MERGED = 8  # segments of one level become one of the next
SEGMENT = 1 << 16  # rows of a segment, at most, that come in one micro-batch
LARGEST = 1 << 18  # rows of a segment, at most, that others are merged into
LARGEST_BYTES = 64 << 20
SLACK = 1.25  # rows in segments, for each that is live, before these are rebuilt
FREE = 1 << 14  # and so many more


@dataclass(frozen=True)
class Segment:
    """Some rows, in the order of their numbers, which come in runs."""

    first: np.ndarray  # int64[runs]: the first number of each run
    offset: np.ndarray  # int64[runs]: where in the segment the run begins
    payload: pa.Table  # one without columns says nothing about its rows
    columns: dict[str, np.ndarray]
    size: np.ndarray  # int32[rows]: about how many bytes the payload of each takes
    level: int  # how often it was merged
    newest: int = field(init=False)  # of the times, if there are any
    largest: int = field(init=False)  # of the sizes
    nbytes: int = field(init=False)  # their sum

    def __post_init__(self) -> None:  # once, so that a micro-batch need not look at all rows
        time = self.columns.get("time", np.zeros(0, np.int64))
        object.__setattr__(self, "newest", int(time.max(initial=np.iinfo(np.int64).min)))
        object.__setattr__(self, "largest", int(self.size.max(initial=0)))
        object.__setattr__(self, "nbytes", int(self.size.sum()))

    def __len__(self) -> int:
        return len(self.size)

    def at(self, number: np.ndarray) -> np.ndarray:
        """Return where in the segment rows of it are."""
        if len(self.first) == 1:
            return number - self.first[0]
        run = np.searchsorted(self.first, number, "right") - 1
        return number - self.first[run] + self.offset[run]


def make_segment(first: int, payload: pa.Table, columns: dict[str, np.ndarray]) -> Segment:
    """Return rows that are numbered one after the other, beginning with `first`."""
    size = row_bytes(payload, len(next(iter(columns.values())))).astype(np.int32)
    return Segment(np.array([first]), np.array([0]), payload, columns, size, 0)


class Segments:
    """The rows of one stream."""

    def __init__(self) -> None:
        self.parts: list[Segment] = []

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def add(self, segment: Segment) -> None:
        """Take rows whose numbers are larger than all before."""
        self.parts.append(segment)
        while len(self.parts) >= MERGED and _can_merge(self.parts[-MERGED:]):
            self.parts[-MERGED:] = [_merged(self.parts[-MERGED:])]

    def load(self, first: int, payload: pa.Table, columns: dict[str, np.ndarray]) -> None:
        """Take saved rows, numbered from `first` on: `payload` and the columns of `saved`."""
        count, at = len(next(iter(columns.values()))), 0
        tables = [pa.Table.from_batches([part]) for part in payload.to_batches()]
        if not payload.num_columns:
            tables = [payload] * bool(count)
        for table in tables:
            stop = at + table.num_rows if table.num_columns else count
            some = {name: column[at:stop] for name, column in columns.items()}
            self.add(make_segment(first + at, table, some))
            at = stop

    @property
    def nbytes(self) -> int:
        """About how many bytes the payloads of all rows take, live or not."""
        return sum(part.nbytes for part in self.parts)

    @property
    def payload(self) -> pa.Table:
        """The payloads of all rows, in the order of their numbers."""
        tables = [part.payload for part in self.parts]
        return concatenated(tables) if tables else pa.table({})

    def saved(self, name: str, kind: npt.DTypeLike = np.int64) -> np.ndarray:
        """Return a NumPy column of all rows, or their sizes, in the order of their numbers."""
        columns = [part.size if name == "size" else part.columns[name] for part in self.parts]
        return np.concatenate([np.zeros(0, kind), *columns])

    def values(self, name: str, number: np.ndarray) -> np.ndarray:
        """Return the values of a NumPy column, or of `size`, of some rows."""
        found: np.ndarray | None = None
        for part, which, at in self._places(number):
            values = (part.size if name == "size" else part.columns[name])[at]
            if which is None:
                return values
            if found is None:
                found = np.zeros(len(number), values.dtype)
            found[which] = values
        return np.zeros(len(number), np.int64) if found is None else found

    def assign(self, name: str, number: np.ndarray, values: np.ndarray) -> None:
        """Write values of a NumPy column of some rows, which came last and are not shared yet."""
        for part, which, at in self._places(number):
            part.columns[name][at] = values if which is None else values[which]

    def take(self, names: Sequence[str], number: np.ndarray) -> pa.Table:
        """Return the payload of some rows, in this order; that of number -1 is null."""
        chosen = list(names)
        if not chosen:
            return pa.table({})
        missing = np.flatnonzero(number < 0)
        schema = self.parts[-1].payload.select(chosen).schema
        nulls = [pa.nulls(len(missing), field.type) for field in schema]
        order, tables = [missing], [pa.Table.from_arrays(nulls, names=chosen)]
        for part, which, at in self._places(number):
            some = part.payload.select(chosen).take(pa.array(at))
            if which is None:
                return some
            order.append(which)
            tables.append(some)
        inverse = np.empty(len(number), np.int64)
        inverse[np.concatenate(order)] = np.arange(len(number))
        return concatenated(tables[not len(missing) :]).take(pa.array(inverse))

    def _places(
        self, number: np.ndarray
    ) -> Iterator[tuple[Segment, np.ndarray | None, np.ndarray]]:
        """Return, for each segment with some of the rows, which of them and where they are in it.

        None stands for all of them. Number -1 is in no segment.
        """
        firsts = np.array([part.first[0] for part in self.parts], np.int64)
        which = np.searchsorted(firsts, number, "right")  # 0: none
        counts = np.bincount(which, minlength=len(firsts) + 1)
        used = np.flatnonzero(counts[1:])
        if len(used) == 1 and not counts[0]:
            yield self.parts[used[0]], None, self.parts[used[0]].at(number)
            return
        order = np.argsort(which.astype(np.int16), kind="stable")
        ends = np.cumsum(counts)
        for place in used:
            mine = order[ends[place] : ends[place + 1]]
            yield self.parts[place], mine, self.parts[place].at(number[mine])

    @property
    def largest(self) -> int:
        """How many bytes the payload of a row takes at most."""
        return max((part.largest for part in self.parts), default=0)

    def rebuild(self, number: np.ndarray, first: int = 0) -> None:
        """Keep some rows only, in this order, numbered anew from `first` on."""
        rebuilt = []
        size = self.values("size", number)
        for piece in pieces(size, LARGEST, LARGEST_BYTES):
            some = number[piece]
            payload = self.take(self.parts[-1].payload.column_names, some).combine_chunks()
            columns = {name: self.values(name, some) for name in self.parts[-1].columns}
            begin = np.array([first + piece.start])
            rebuilt.append(Segment(begin, np.array([0]), payload, columns, size[piece], MERGED))
        self.parts = rebuilt


def should_rebuild(
    streams: Sequence[Segments], engine: Any, budget: int | None, beside: int = 0
) -> bool:
    """Tell whether too few rows are held by the engine, which has a budget in bytes if one is said.

    Payloads of others may then take a fourth of it; `beside` are bytes for each row held.
    """
    if sum(map(len, streams)) > SLACK * engine.held + FREE:
        return True
    if budget is None:
        return False
    _, _, charge, fixed = engine.footprint
    live = engine.used - fixed - (charge + beside) * engine.held
    return bool(sum(held.nbytes for held in streams) - live > budget // 4)


def _can_merge(parts: list[Segment]) -> bool:
    """Tell whether segments are of one level and not too large together."""
    rows, size = sum(map(len, parts)), sum(part.nbytes for part in parts)
    same = all(part.level == parts[0].level for part in parts)
    return same and rows <= LARGEST and size <= LARGEST_BYTES


def _merged(parts: list[Segment]) -> Segment:
    starts = np.cumsum([0, *map(len, parts[:-1])])
    return Segment(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.offset + start for part, start in zip(parts, starts)]),
        concatenated([part.payload for part in parts]).combine_chunks(),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns},
        np.concatenate([part.size for part in parts]),
        parts[0].level + 1,
    )
