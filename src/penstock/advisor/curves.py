"""Recall, or hit ratio, by memory: one curve for each policy, and what can be read off it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from .replay import Measured

# Of the live rows on average. Every policy is tried with every second one, the best with all, but
# only where the curve is steep.
SHARES = (0.01, 0.02, 0.05, 0.07, 0.1, 0.14, 0.2, 0.32, 0.5, 0.72, 1.0)
ALL_TRIED = 2
STEEP = 0.04  # between two points; the truth lies about a quarter of it off the line at most
ROUGHLY = 0.15  # the same, of policies that take long
# What is not the goal is looked at where it rises so many times as much, and of the best policies
# only: of the others there is one more point.
BESIDE = 8
REFINED = 3  # further replays, where a curve passes a target

Replay = Callable[[str, float], Measured]  # of a policy and a budget


@dataclass(frozen=True, eq=False)
class Curve:
    """What a policy finds with each memory."""

    policy: str
    rows: Ints
    share: NDArray[np.float64]  # recall, or hit ratio
    error: NDArray[np.float64]  # half the width of its 95 % interval
    beside: "Curve | None" = None  # of a join: the same of what is not its goal

    def at(self, rows: float) -> Measured:
        """Return what a memory of so many rows finds.

        >>> curve = Curve("lru", np.array([10, 1000]), np.array([0.2, 0.6]), np.array([0.0, 0.0]))
        >>> round(curve.at(100).share, 3)
        0.4
        """
        beside = None if self.beside is None else self.beside.at(rows)
        if rows < self.rows[0]:  # nothing is found with nothing
            part = rows / self.rows[0]
            return Measured(float(part * self.share[0]), float(self.error[0]), beside)
        at, points = np.log(rows), np.log(self.rows)
        return Measured(
            float(np.interp(at, points, self.share)),
            float(np.interp(at, points, self.error)) + self._bend(at, points),
            beside,
        )

    def _bend(self, at: float, points: NDArray[np.float64]) -> float:
        """Return how far the truth may lie off the line between two points."""
        place = min(int(np.searchsorted(points, at)), len(points) - 1)
        if place == 0 or at >= points[place]:
            return 0.0
        part = (at - points[place - 1]) / (points[place] - points[place - 1])
        return float(part * (1 - part) * abs(self.share[place] - self.share[place - 1]))

    def rows_for(self, target: float, sigmas: float = 0.0) -> float | None:
        """Return the least memory that finds so much; None if none does.

        With `sigmas` -1 the errors count against it, with 1 in its favour.
        """
        reached = np.maximum.accumulate(np.clip(self.share + sigmas * self.error, 0, 1))
        if sigmas:
            reached[-1] = max(reached[-1], self.share[-1])  # with all rows it is exact
        place = int(np.searchsorted(reached, target - 1e-12))
        if place == len(reached):
            return None
        if place == 0:
            return max(1.0, float(self.rows[0] * target / max(reached[0], target)))
        below, above = reached[place - 1], reached[place]
        part = (target - below) / (above - below)
        low, high = np.log(self.rows[place - 1]), np.log(self.rows[place])
        return float(np.exp(low + part * (high - low)))

    def with_point(self, rows: int, found: Measured) -> "Curve":
        """Return the curve with one more point."""
        place = int(np.searchsorted(self.rows, rows))
        beside = self.beside
        if beside is not None and found.beside is not None:
            beside = beside.with_point(rows, found.beside)
        return Curve(
            self.policy,
            np.insert(self.rows, place, rows),
            np.insert(self.share, place, found.share),
            np.insert(self.error, place, found.error),
            beside,
        )

    def steps(self, beside: float) -> NDArray[np.float64]:
        """Return how much it rises from each point to the next, or 1 / `beside` of what is beside
        it does, if that is more.
        """
        mine = np.abs(np.diff(self.share))
        if self.beside is None:
            return mine
        return np.maximum(mine, np.abs(np.diff(self.beside.share)) / beside)


def grid(mean: float, peak: int) -> Ints:
    """Return the memories to try: shares of the live rows on average, and on to the most.

    >>> grid(100, 100).tolist()
    [1, 2, 5, 7, 10, 14, 20, 32, 50, 72, 100]
    """
    rows = [share * mean for share in SHARES]
    if peak > 1.3 * mean:
        rows += np.geomspace(mean, peak, 4)[1:].tolist()
    whole = np.unique(np.maximum(1, np.rint(rows)).astype(np.int64))
    return np.unique(np.append(whole[whole < peak], peak))


def rough(rows: Ints) -> Ints:
    """Return those of a grid that every policy is tried with."""
    return np.append(rows[:-1:ALL_TRIED], rows[-1])


def middle(rows: Ints) -> int:
    """Return the memory in the middle, that every policy is tried with."""
    return int(rows[len(rows) * 2 // 5])


def upper(rows: Ints) -> int:
    """Return the memory between the middle and the last, for what is not the goal."""
    return int(rows[len(rows) * 4 // 5])


def draw_curve(
    policy: str,
    rows: Ints,
    most: float,
    replay: Replay,
    beside: bool = False,
    always: Sequence[int] | None = None,
    steep: float = STEEP,
) -> Curve:
    """Return the curve of a policy; with the last of `rows` it finds `most`, which is known.

    always: points that are always there, by default the first one and one in the middle; the others
        are there where the curve is steep.
    beside: whether another is drawn of what is not the goal, which ends at the same height; by
        default one more point is always there for it.
    """
    curve = Curve(policy, rows[-1:], np.array([most]), np.zeros(1))
    if beside:
        curve = replace(curve, beside=curve)
    if always is None:
        always = [int(rows[0]), middle(rows), *([upper(rows)] if beside else [])]
    for budget in always:
        if budget < rows[-1] and budget not in curve.rows:
            curve = curve.with_point(budget, replay(policy, budget))
    return fill(curve, rows, replay, steep)


def fill(
    curve: Curve, rows: Ints, replay: Replay, steep: float = STEEP, beside: float = np.inf
) -> Curve:
    """Return the curve with those of these points that lie where it is steep, or beside it."""
    while True:
        budget = _steepest(curve, rows, steep, beside)
        if budget is None:
            return curve
        curve = curve.with_point(budget, replay(curve.policy, budget))


def _steepest(curve: Curve, rows: Ints, steep: float, beside: float) -> int | None:
    """Return the middle of the points to be had where a curve rises most, if it is steep there."""
    steps = curve.steps(beside)
    for place in np.argsort(-steps).tolist():
        if steps[place] <= steep:
            break
        between = rows[(rows > curve.rows[place]) & (rows < curve.rows[place + 1])]
        if len(between):
            return int(between[len(between) // 2])
    return None


def refine(curve: Curve, target: float, replay: Replay) -> Curve:
    """Return the curve with more points where it passes the target."""
    for _ in range(REFINED):
        rows = curve.rows_for(target)
        if rows is None:
            return curve
        whole = round(rows)
        if whole in curve.rows:
            return curve
        curve = curve.with_point(whole, replay(curve.policy, whole))
    return curve
