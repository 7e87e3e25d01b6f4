"""The rows that miniatures replay: some keys, some stretches of time, each row with its weight."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..offline import exact_results
from ..workloads.trace import Ints
from .hot import Split
from .live import live_rows
from .stretches import Stretch

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JoinSample:
    """Rows of two streams in (time, side) order."""

    side: NDArray[np.int8]
    key: Ints
    time: Ints
    weight: Ints  # how many rows each one stands for
    within: int | None
    parts: tuple[tuple[int, int, int], ...]  # of each stretch: first row, first that counts, end
    matches: Floats  # of each stretch: what an unlimited memory would find, in weights
    live: float  # rows alive on average, in weights
    spread: float  # see `Split`

    @property
    def weighted(self) -> bool:
        """Whether some rows stand for more than themselves."""
        return bool((self.weight > 1).any())

    @property
    def whole(self) -> bool:
        """Whether every row of the streams is in it."""
        return self.spread == 0 and len(self.parts) == 1 and self.parts[0][1] == 0


def join_sample(
    side: NDArray,
    key: Ints,
    time: Ints,
    weight: Ints,
    within: int | None,
    stretches: tuple[Stretch, ...],
    split: Split,
) -> JoinSample:
    """Return the sample of rows that lie in the stretches, in (time, side) order."""
    cuts = [np.searchsorted(time, [each.warm, each.start, each.stop]) for each in stretches]
    parts = tuple((int(first), int(start), int(stop)) for first, start, stop in cuts)
    end = None if within is None else time + within
    found = exact_results(side, key, time, end)[0] * weight
    matches = np.array([found[start:stop].sum() for _, start, stop in parts], np.float64)
    counted = np.concatenate([np.arange(start, stop) for _, start, stop in parts])
    alive = 0.0
    if len(counted):
        # Rows that lie before a stretch are not in the sample, so only its counted rows tell.
        means = [
            live_rows(time[first:stop], within, weight[first:stop]).mean
            if start == first
            else _live_after(time, weight, within, first, start, stop)
            for first, start, stop in parts
            if stop > start
        ]
        sizes = [weight[start:stop].sum() for _, start, stop in parts if stop > start]
        alive = float(np.average(means, weights=sizes))
    return JoinSample(
        side,
        key,
        time,
        weight,
        within,
        parts,
        matches,
        alive,
        split.spread,
    )


def _live_after(
    time: Ints, weight: Ints, within: int | None, first: int, start: int, stop: int
) -> float:
    """Return the mean of the rows alive at those from `start`, of all from `first`."""
    came = np.concatenate(([0], np.cumsum(weight[first:stop])))
    at = time[first:stop]
    gone = 0 if within is None else np.searchsorted(at, at - within, side="left")
    alive = came[1:] - came[gone]
    return float(np.average(alive[start - first :], weights=weight[start:stop]))


@dataclass(frozen=True, eq=False)
class LookupSample:
    """References in their order."""

    key: Ints
    weight: Ints  # how many references, and cached rows, each one stands for
    spread: float

    @property
    def weighted(self) -> bool:
        """Whether some rows stand for more than themselves."""
        return bool((self.weight > 1).any())

    @property
    def whole(self) -> bool:
        """Whether every reference is in it."""
        return self.spread == 0
