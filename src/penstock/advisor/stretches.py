"""Which parts of the time a sample looks at: stretches of several windows, evenly spread.

Each begins with one window in which memories fill and nothing counts. What a policy has learnt in
one stretch it knows in the next; what it held is dead by then.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EACH = 4  # windows in a stretch, where there are enough of them
SHORTEST = 2  # windows in a stretch: one to fill memories, one that counts
FEWEST, MOST = 3, 96  # stretches: how far they are apart tells how far off all of them may be
TOO_MUCH = 0.7  # what would be left out would not be worth the warming up


class Stretch(NamedTuple):
    """A part of the time; results count from `start` to below `stop`."""

    warm: float  # the first time that is looked at
    start: float
    stop: float


WHOLE: tuple[Stretch, ...] = (Stretch(-np.inf, -np.inf, np.inf),)


def choose_stretches(
    edges: NDArray, rows: NDArray, part: float, window_rows: float, within: float | None, seed: int
) -> tuple[Stretch, ...]:
    """Return stretches that hold about this part of the rows.

    edges, rows: how many rows came between each two times.
    window_rows: how many a window has.

    >>> edges, rows = np.arange(1001), np.ones(1000)
    >>> found = choose_stretches(edges, rows, part=0.24, window_rows=10, within=10, seed=0)
    >>> len(found), round(sum(each.stop - each.warm for each in found))
    (6, 240)
    """
    total = float(rows.sum())
    windows = total / max(1.0, window_rows)
    part = part_of(part, windows, FEWEST)
    if within is None or part == 1:
        return WHOLE
    count = int(np.clip(part * windows // EACH, FEWEST, MOST))
    came = np.concatenate(([0.0], np.cumsum(rows)))
    block, each = total / count, part * total / count
    offset = np.random.default_rng(seed).random() * (block - each)
    first = np.arange(count) * block + offset
    warm = np.interp(first, came, edges)
    stop = np.interp(first + each, came, edges)
    return _apart(warm, stop, within)


def part_of(wanted: float, windows: float, fewest: int) -> float:
    """Return which part of the time to look at: not less than so many stretches, or all of it.

    >>> part_of(0.01, windows=100, fewest=8), part_of(0.01, windows=20, fewest=8)
    (0.16, 1.0)
    """
    part = max(wanted, fewest * SHORTEST / max(1.0, windows))
    return 1.0 if part > TOO_MUCH else part


def _apart(warm: NDArray, stop: NDArray, within: float) -> tuple[Stretch, ...]:
    """Return the stretches, those that a window cannot keep apart made one."""
    found: list[Stretch] = []
    for begin, end in zip(warm.tolist(), stop.tolist(), strict=True):
        if found and begin <= found[-1].stop + within:
            found[-1] = found[-1]._replace(stop=end)
        elif end > begin + within:
            found.append(Stretch(begin, begin + within, end))
    return tuple(found) if len(found) >= FEWEST else WHOLE
