"""A trace: the arrivals that an engine replays, as plain arrays in arrival order.

Readers of files and generators make traces, and check what users give them; the engines check the
shape of a join.

`arrivals` are the rows of a join in the order in which they are taken, each with the last time at
which it can match.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..kernel.shape import Joins, all_streams
from ..kernel.slots import FOREVER
from ..models.cells import find_unit, to_cells
from ..numeric import Floats, Ints

Sides = NDArray[np.int8]
Numbers = Ints | Floats


@dataclass(frozen=True, eq=False)
class JoinTrace:
    """The tuples of two or more streams, one row each, in time order.

    >>> trace = JoinTrace(side=[0, 1, 0], key=[7, 7, 8], time=[0, 0, 1], name="tiny")
    >>> len(trace), trace.key.dtype.name
    (3, 'int64')
    """

    side: Sides  # int8[n]: the stream of each row, 0 .. streams - 1
    key: Ints  # int64[n], or int64[n, attributes]
    time: Ints  # int64[n]: never goes back
    end: Ints | None = None  # int64[n]: the last time a row can match; None: the window decides
    together: bool = False  # discrete time: a step brings one row of every stream, in stream order
    micro: bool = False  # times are microseconds, not steps, rows or other plain numbers
    streams: int = 2
    name: str = "trace"
    value: Numbers | None = None  # as key: the number behind it; None where keys are mere names
    joins: Joins = ()  # which streams meet on which attributes; (): all of them, on each attribute

    def __post_init__(self) -> None:
        if not 2 <= self.streams <= 127:  # the side is an int8
            raise BadInput(f"streams must be between 2 and 127, got {self.streams}")
        for name, kind in (("side", np.int8), ("key", np.int64), ("time", np.int64)):
            _store(self, name, kind)
        if self.end is not None:
            _store(self, "end", np.int64)
        if not self.joins:
            object.__setattr__(self, "joins", all_streams(self.streams, self.attributes))

    def __len__(self) -> int:
        return len(self.side)

    @property
    def attributes(self) -> int:
        """How many key columns a row has."""
        return 1 if self.key.ndim == 1 else self.key.shape[1]


@dataclass(frozen=True, eq=False)
class LookupTrace:
    """A reference stream: the keys that a cache is asked for, one a step.

    >>> len(LookupTrace([3, 1, 3]))
    3
    """

    key: Ints  # int64[n]
    name: str = "trace"
    value: Numbers | None = None  # [n]: the number behind the key; None where keys are mere names

    def __post_init__(self) -> None:
        _store(self, "key", np.int64)

    def __len__(self) -> int:
        return len(self.key)


Trace = JoinTrace | LookupTrace
AnyTrace = TypeVar("AnyTrace", JoinTrace, LookupTrace)


def shortened(trace: Trace, length: int) -> Trace:
    """Return the first `length` rows of a trace."""
    columns = ("side", "key", "time", "end", "value")
    given = {name: getattr(trace, name, None) for name in columns}
    return replace(trace, **{name: c[:length] for name, c in given.items() if c is not None})


@functools.lru_cache(maxsize=2)  # the same in every run over a file
def with_ordered_keys(trace: AnyTrace, policy: str) -> AnyTrace:
    """Return the trace with whole numbers for keys, equal where keys are and in their order.

    A policy with a model of values needs keys whose order means something.

    >>> degrees = LookupTrace([0, 1, 0], value=np.array([20.7, 19.0, 20.7]))
    >>> with_ordered_keys(degrees, "heeb").key.tolist()
    [207, 190, 207]
    """
    if trace.value is None:
        raise BadInput(
            f"policy {policy!r} goes by the order of keys, and those of {trace.name} are names; "
            "choose a numeric key column, or another policy"
        )
    value = trace.value.ravel()  # one unit for all attributes, which may meet each other
    cell = to_cells(value, find_unit("key", value))[0]
    return replace(trace, key=cell.reshape(trace.value.shape))


def interleave(streams: Sequence[Ints]) -> tuple[Sides, Ints, Ints]:
    """Return side, key and time of streams that bring one row each at every step, in stream order.

    >>> side, key, time = interleave([np.array([5, 6]), np.array([8, 9])])
    >>> key.tolist(), time.tolist()
    ([5, 8, 6, 9], [0, 0, 1, 1])
    """
    length = len(streams[0])
    key = np.stack(streams, axis=1).reshape(length * len(streams), *streams[0].shape[1:])
    side = np.tile(np.arange(len(streams), dtype=np.int8), length)
    return side, key, np.repeat(np.arange(length), len(streams))


def _store(trace: Any, name: str, kind: type) -> None:
    """Replace a field by an array of the type it promises.

    Writable, because kernels would be compiled anew for an array that is not.
    """
    column = np.require(getattr(trace, name), kind, ["C_CONTIGUOUS", "WRITEABLE"])
    object.__setattr__(trace, name, column)  # the dataclass is frozen


class Arrivals(NamedTuple):
    """Columns in (time, side, arrival) order."""

    side: np.ndarray  # int8[n]
    key: np.ndarray  # int64[n], or int64[n, attributes]; of a band join the values
    time: np.ndarray  # int64[n]
    end: np.ndarray | None  # int64[n]: the last time at which a row can match; None: no limit

    def part(self, start: int, stop: int | None) -> "Arrivals":
        """Return the rows from `start` to below `stop`."""
        end = None if self.end is None else self.end[start:stop]
        return Arrivals(self.side[start:stop], self.key[start:stop], self.time[start:stop], end)


@functools.lru_cache(maxsize=2)
def arrivals(trace: JoinTrace, within: int | None, near: float | None = None) -> Arrivals:
    """Return the rows as the engines and the optimum both take them; with `near` values for keys.

    Ordered here and not by the engine, because it would order each part of a warm-up by itself.
    """
    order = np.lexsort((trace.side, trace.time))
    end = _ends(trace, within, near)
    key = trace.key if near is None or trace.value is None else trace.value
    return Arrivals(
        trace.side[order], key[order], trace.time[order], None if end is None else end[order]
    )


def _ends(trace: JoinTrace, within: int | None, near: float | None) -> np.ndarray | None:
    if trace.end is None and within is None:
        return None
    end = np.full(len(trace), FOREVER) if trace.end is None else trace.end
    if trace.end is not None and near is not None:
        # It is when the other stream has left a value behind, which moves by 1 a step at least.
        end = np.minimum(end, FOREVER - int(near)) + int(near)
    if within is not None:
        reach = min(within, FOREVER)
        last = np.minimum(trace.time, FOREVER - reach) + reach  # never beyond the end of time
        end = np.minimum(end, last)
    # A drifting value that is behind already when it comes can still match what is held.
    return np.maximum(end, trace.time)


def steps_of(trace: JoinTrace, within: int | None) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield the keys of R and S and the last steps they can match at, step by step: 0, 1, ..."""
    if not trace.together or trace.streams != 2 or trace.key.ndim != 1:
        raise BadInput("a plan needs two streams that bring one tuple each at every step")
    rows = arrivals(trace, within)
    if (rows.time[::2] != np.arange(len(trace) // 2)).any():
        raise BadInput("a plan needs times that count the steps: 0, 1, ...")
    end = np.full(len(trace), FOREVER) if rows.end is None else rows.end
    for r, s, end_r, end_s in zip(rows.key[::2], rows.key[1::2], end[::2], end[1::2], strict=True):
        yield int(r), int(s), (int(end_r), int(end_s))
