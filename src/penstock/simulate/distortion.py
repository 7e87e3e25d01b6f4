"""How far a policy's results are from being a fair sample of all results.

A tally counts results by (join, value of the join attribute): int64[cells], the cells in the order
of join and value. All tallies of a trace have the same cells, so that they can be compared.

Divided by their sums, p of all results and q of those produced, two tallies are compared by

- SSE, the sum of (p - q)^2: 0 where they agree, below 2. Where nothing was produced q is 0;
- KL, the Kullback-Leibler divergence, the sum of p ln(p / q), in nats. It would be infinite as soon
  as one value is missing from the results produced. So half a result is added to each value that
  has any, on both sides: KL is 0 for the exact join, and always finite.

Source: section 5.4, figures 9 and 10, of the GreedyDual-Join paper (BUCS-TR-2004-028). Departure:
it does not say in which direction its KL is taken, nor how missing values count (decision 14).
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ..kernel.policy import Configured
from .optimum import results_at
from .player import ReplayTerms, prepare_join, push
from .traces import JoinTrace, arrivals

ADDED = 0.5  # of a result, for each value: the estimate of Krichevsky and Trofimov
PART = 4096  # rows between two looks at the results, of which each may have many


class Distortion(NamedTuple):
    """The distance of a policy's results from all of them, in two measures."""

    sse: float
    kl: float

    @classmethod
    def between(cls, exact: np.ndarray, found: np.ndarray) -> "Distortion":
        """Return how far the tally `found` is from that of all results, of which it has a part.

        >>> Distortion.between(np.array([2, 2]), np.array([1, 1]))
        Distortion(sse=0.0, kl=0.0)
        >>> Distortion.between(np.array([1, 1]), np.array([1, 0])).sse
        0.5
        """
        exact, found = (each[exact > 0].astype(np.float64) for each in (exact, found))
        p, q = (each / max(each.sum(), 1) for each in (exact, found))
        sse = float(((p - q) ** 2).sum())
        p, q = ((each + ADDED) / (each + ADDED).sum() for each in (exact, found))
        return cls(sse, max(0.0, float((p * np.log(p / q)).sum())))


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


def tally(trace: JoinTrace, policy: str | Configured, memory: int, **terms: Any) -> np.ndarray:
    """Tally the results that `play` counts, called with the same arguments.

    The trace is replayed for this alone: to list results would spoil the measured speed.

    >>> trace = JoinTrace([0, 1, 1, 0], [7, 7, 8, 8], [0, 1, 2, 3])
    >>> tally(trace, "fifo", memory=1).tolist()
    [1, 1]
    """
    on = ReplayTerms(**terms)
    rows, fresh = prepare_join(trace, policy, memory, on)
    cell, count = _cells(trace, on.within)
    found = np.zeros(count, np.int64)
    join = fresh()
    for start, stop in _parts(rows.time, trace.together):
        matches = push(join, rows.part(start, stop), emit=True)
        latest = matches.rows.max(axis=1, initial=-1)
        counted = latest >= on.first
        found += np.bincount(cell[matches.join[counted], latest[counted]], minlength=count)
    return found


def _parts(time: np.ndarray, together: bool) -> list[tuple[int, int]]:
    """Cut the rows into parts, where rows of one time come together between times only."""
    wanted = np.arange(0, len(time), PART)
    cuts = np.searchsorted(time, time[wanted]) if together else wanted
    cuts = np.unique(np.append(cuts, len(time)))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


@functools.lru_cache(maxsize=2)
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
