"""A random walk: each value is the one before plus an independent step, which may drift.

Source: section 7.5 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005). Their walk is continuous and discretised; here the steps are whole numbers themselves.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..kernel.options import check_word
from ..numeric import Floats, Ints, check_number, minimum
from .cells import Discrete, cell_mass, to_cells, whole_numbers
from .model import Fit, Past, fitted, last, steps, values_between

KINDS = ("normal", "empirical")
LEAST = 10  # values, for enough steps
ROUNDS = 4  # of the search for a drift and an sd
FAINT = 1e-30  # a mass at the edge of d steps that is small enough to omit


class Walk:
    """The distribution of a step.

    >>> coin = Walk(Discrete(-1, [0.5, 0, 0.5]))
    >>> coin.prob([-2, -1, 0], d=2, history=[0]).tolist()
    [0.25, 0.0, 0.5]
    """

    family: ClassVar[str] = "walk"

    def __init__(self, step: Discrete) -> None:
        self.step = step

    def __repr__(self) -> str:
        return f"Walk({self.step!r})"

    @classmethod
    def normal(cls, drift: float, sd: float) -> "Walk":
        """Return a walk with steps of round(N(drift, sd)).

        >>> Walk.normal(drift=0, sd=1).prob(0, 1, history=[0]).round(6)
        np.float64(0.382925)
        """
        drift, sd = check_number("drift", drift), check_number("sd", sd, 0, above=True)
        return cls(Discrete.rounded(drift, sd))

    def prob(self, v: ArrayLike, d: ArrayLike, history: Past) -> Floats:
        """Return the probability that d steps lead from the last value to v."""
        cell, on = to_cells(v)
        here = self._place(last(history, self.family).value)
        way, ahead, on = np.broadcast_arrays(cell - here, steps(d), on)
        p = _after_steps(self.step, way.ravel(), ahead.ravel()).reshape(way.shape)
        return np.where(on, p, 0.0)[()]

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return the values from the lowest to the highest that the steps can lead to."""
        here = round(last(history, self.family).value)
        low, high = self.step.lowest, self.step.highest
        return values_between(here + min(most * low, low), here + max(most * high, high))

    def _place(self, value: float | np.ndarray) -> Ints:
        cell, on = to_cells(value)
        if not on.all():
            raise BadInput(f"a walk must be at whole numbers, got {value}")
        return cell

    @classmethod
    def fit(cls, data: ArrayLike, step: str = "normal") -> Fit:
        """Find the likeliest distribution of steps: a rounded normal, or the counted steps.

        >>> moves = np.random.default_rng(1).normal(0.5, 2, 2000).round()
        >>> fit = Walk.fit(np.cumsum(moves))
        >>> round(fit.model.step.mean, 1), round(fit.model.step.sd, 1)
        (0.5, 2.0)
        """
        check_word("step", step, KINDS)
        values = whole_numbers(data, LEAST)
        moves = np.diff(values)
        if (moves == moves[0]).all():
            raise BadInput(
                f"data must take different steps to be a walk, got {moves[0]} every time;"
                " use a Trend"
            )
        if step == "normal":
            model, free = cls.normal(*_rounded_normal(moves)), 2
        else:
            model = cls(Discrete.empirical(moves))
            free = len(np.unique(moves)) - 1
        return fitted(model, values, free, f"{step} steps")


def _after_steps(step: Discrete, way: Ints, ahead: Ints) -> Floats:
    """Return the probability that `ahead` steps sum to `way`, pair by pair."""
    p = np.zeros(len(way))
    order = np.argsort(ahead, kind="stable")
    sums, taken = step, 1
    for group in np.split(order, np.flatnonzero(np.diff(ahead[order])) + 1):
        while len(group) and taken < ahead[group[0]]:
            sums, taken = added(sums, step), taken + 1
        p[group] = sums.of(way[group])
    return p


def added(one: Discrete, other: Discrete) -> Discrete:
    """Return the distribution of the sum of two, without negligible masses at the edges.

    Without trimming, the table would grow with d instead of its square root.
    """
    mass = np.convolve(one.mass, other.mass)
    seen = np.flatnonzero(mass > FAINT)
    kept = mass[seen[0] : seen[-1] + 1]
    return Discrete(one.lowest + other.lowest + int(seen[0]), kept / kept.sum())


def _rounded_normal(moves: Ints) -> tuple[float, float]:
    """Return the drift and sd of the normal that, rounded, makes the steps likeliest."""
    value, count = np.unique(moves, return_counts=True)
    rough = np.sqrt(max(moves.var() - 1 / 12, 0.05))  # Sheppard: rounding adds a twelfth

    def cost(drift: float, log_sd: float) -> float:
        mass = cell_mass(value, drift, np.exp(log_sd))
        return -float(count @ np.log(np.maximum(mass, 1e-300)))

    mean = float(moves.mean())
    drift, log_sd = mean, float(np.log(rough))
    for _ in range(ROUNDS):  # the two hardly depend on each other, so few rounds are enough
        drift = minimum(partial(cost, log_sd=log_sd), mean - 1, mean + 1)
        log_sd = minimum(partial(cost, drift), log_sd - 1, log_sd + 1)
    return drift, float(np.exp(log_sd))
