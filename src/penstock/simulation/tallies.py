"""How results spread over the values of the join attribute: of an unlimited memory, of a policy.

A tally counts results by (join, value): int64[cells], the cells in the order of join and value. The
same cells serve all tallies of a trace, so that they can be compared.
"""

import functools
from collections.abc import Sequence

import numpy as np

from ..core.gains import PAIRS
from ..core.policy import JOINING
from ..models import Model
from ..workloads import JoinTrace
from .arrivals import arrivals, part
from .contender import Contender, contender
from .full import results_at
from .joining import Joining, push

PART = 4096  # rows between two looks at the results, of which each may have many


def exact_tally(trace: JoinTrace, *, within: int | None = None, first: int = 0) -> np.ndarray:
    """Tally the results of an unlimited memory at the rows from `first` on.

    >>> trace = JoinTrace([0, 1, 1, 0], [7, 7, 8, 8], [0, 1, 2, 3])
    >>> exact_tally(trace).tolist(), exact_tally(trace, first=2).tolist()
    ([1, 1], [0, 1])
    """
    cell, count = _cells(trace, within)
    results = results_at(trace, within)
    tally = np.zeros(count, np.int64)
    np.add.at(tally, cell[:, first:].ravel(), results[:, first:].ravel())
    return tally


def tally(
    trace: JoinTrace,
    policy: str | Contender,
    memory: int,
    *,
    within: int | None = None,
    layout: str = "unified",
    drop: float = 0.0,
    first: int = 0,
    seed: int = 0,
    models: Sequence[Model] | None = None,
    goal: str = PAIRS,
) -> np.ndarray:
    """Tally the results that `play` counts, called with the same arguments.

    >>> trace = JoinTrace([0, 1, 1, 0], [7, 7, 8, 8], [0, 1, 2, 3])
    >>> tally(trace, "fifo", memory=1).tolist()
    [1, 1]
    """
    who = contender(policy, JOINING) if isinstance(policy, str) else policy
    joining = Joining(who, memory, within, layout, drop, seed, models, goal)
    rows, fresh = joining.prepare(trace)
    cell, count = _cells(trace, within)
    found = np.zeros(count, np.int64)
    join = fresh()
    for start, stop in _parts(rows.time, trace.together):
        matches = push(join, part(rows, start, stop), emit=True)
        latest = matches.rows.max(axis=1, initial=-1)
        counted = latest >= first
        found += np.bincount(cell[matches.join[counted], latest[counted]], minlength=count)
    return found


def _parts(time: np.ndarray, together: bool) -> list[tuple[int, int]]:
    """Cut the rows into parts, where rows of one time come together between times only."""
    wanted = np.arange(0, len(time), PART)
    cuts = np.searchsorted(time, time[wanted]) if together else wanted
    cuts = np.unique(np.append(cuts, len(time)))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


@functools.lru_cache(maxsize=1)
def _cells(trace: JoinTrace, within: int | None) -> tuple[np.ndarray, int]:
    """Return int64[joins, rows], the cell of each row in each join, and how many cells there are.

    A row that takes no part in a join lies in the first cell of it, and never has a result.
    """
    rows = arrivals(trace, within)
    keys = rows.key.reshape(len(trace), trace.attributes)
    cell = np.zeros((len(trace.joins), len(trace)), np.int64)
    count = 0
    for number, join in enumerate(trace.joins):
        attribute = np.full(trace.streams, -1)
        for stream, leg in join:
            attribute[stream] = leg
        leg = attribute[rows.side]
        takes_part = np.flatnonzero(leg >= 0)
        value, place = np.unique(keys[takes_part, leg[takes_part]], return_inverse=True)
        cell[number] = count
        cell[number, takes_part] += place
        count += len(value)
    return cell, count
