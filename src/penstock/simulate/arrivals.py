"""The rows of a join in the order in which they are taken, each with the last time it can match."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..core.slots import FOREVER
from ..errors import BadInput
from .traces import JoinTrace


class Arrivals(NamedTuple):
    """Columns in (time, side, arrival) order."""

    side: np.ndarray  # int8[n]
    key: np.ndarray  # int64[n], or int64[n, attributes]
    time: np.ndarray  # int64[n]
    end: np.ndarray | None  # int64[n]: the last time at which a row can match; None: no limit

    def part(self, start: int, stop: int | None) -> "Arrivals":
        """Return the rows from `start` to below `stop`."""
        end = None if self.end is None else self.end[start:stop]
        return Arrivals(self.side[start:stop], self.key[start:stop], self.time[start:stop], end)


@functools.lru_cache(maxsize=2)
def arrivals(trace: JoinTrace, within: int | None) -> Arrivals:
    """Return the rows as the engines and the optimum both take them.

    Ordered here and not by the engine, because it would order each part of a warm-up by itself.
    """
    order = np.lexsort((trace.side, trace.time))
    end = _ends(trace, within)
    return Arrivals(
        trace.side[order], trace.key[order], trace.time[order], None if end is None else end[order]
    )


def _ends(trace: JoinTrace, within: int | None) -> np.ndarray | None:
    if trace.end is None and within is None:
        return None
    end = np.full(len(trace), FOREVER) if trace.end is None else trace.end
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
