"""Figures 2.1 and 2: popularity, stack distances and best ages of the stock trades."""

from typing import Any

import numpy as np

from papers.printed.age import best_age
from penstock.profile.distances import stack_distances
from penstock.profile.ranked import permuted

from .frame import Experiment, Found, judge
from .lab import Lab
from .locality_01 import straight_line
from .streams import ORDERS, TRADES, WITHIN, column
from .style import lines, name_axes

CACHE = 0.1  # of the working set: where the paper compares
AROUND = 0.2  # of k: how far an age may be off to be called near another


def run(lab: Lab) -> Found:
    """Count distances, and the best age of every value."""
    keys = np.unique(column(TRADES, "key")[: lab.pick(None, 10_000)], return_inverse=True)[1]
    count = np.sort(np.bincount(keys))[::-1]
    slope, fit = straight_line(count)
    size = max(1, round(CACHE * len(count)))
    sizes = np.unique(np.geomspace(1, len(count), 40).astype(int))
    hit = {order: _within(stream, sizes) for order, stream in _orders(keys).items()}
    at = {
        order: float(_within(stream, np.array([size]))[0])
        for order, stream in _orders(keys).items()
    }
    ages = _ages(lab)
    near = max(float((np.abs(ages - k) <= AROUND * k).mean()) for k in np.unique(ages))

    def draw(figure: Any) -> None:
        left, middle, right = figure.subplots(1, 3)
        left.loglog(np.arange(1, len(count) + 1), count / count.sum(), ".", color="#2f6fb7")
        name_axes(left, "rank", "share of the trades", "Figure 2.1: popularity")
        curves = {order: (sizes, share) for order, share in hit.items()}
        x, y = "stack distance, values", "share of the trades"
        lines(middle, curves, x, y, "Figure 2.1: distances", labels=str, plain=True)
        middle.set_xscale("log")
        right.hist(ages, bins=40, color="#c8452f")
        name_axes(right, "best age k, time units", "values", "Figure 2: best ages")

    verdicts = [
        judge(
            "popularity against rank is a straight line on a log-log scale (slope 0.71 there)",
            [fit > 0.9],
            f"slope {-slope:.2f}, R² {fit:.2f}",
        ),
        judge(
            "stack distances differ much from those of a random order (by 10 points or more)",
            [abs(at["stream"] - at["permuted"]) >= 0.1],
            f"within {size} values: {at['stream']:.0%} and {at['permuted']:.0%}",
        ),
        judge(
            "in a cache of 10 % of the values locality could be twice as effective as frequency",
            [at["stream"] >= 2 * at["permuted"]],
            f"{at['stream'] / at['permuted']:.2f} times the hits",
        ),
        judge(
            "any one best age fits a small part of the values only (under half, within 20 %)",
            [near < 0.5],
            f"the best one fits {near:.0%} of {len(ages)} values; deviation over mean "
            f"{float(ages.std() / ages.mean()):.2f}",
        ),
    ]
    rows = [
        {"what": order, "x": int(x), "y": float(y)}
        for order, share in hit.items()
        for x, y in zip(sizes, share, strict=True)
    ]
    rows += [{"what": "best age", "x": int(age), "y": 1.0} for age in ages]
    note = (
        "Trades of another exchange than the paper's. Best ages are those of the values of the "
        f"trades among the orders, window {WITHIN['stock']:,}; values that never match have none."
    )
    return Found(rows, draw, verdicts, [note], (11.0, 3.6))


def _orders(keys: np.ndarray) -> dict[str, np.ndarray]:
    return {"stream": keys, "permuted": permuted(keys, 0)}


def _within(stream: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return which share of a stream an LRU cache of each size would hit."""
    found = stack_distances(stream)
    again = np.sort(found[found >= 0])
    return np.searchsorted(again, sizes, "left") / len(stream)


def _ages(lab: Lab) -> np.ndarray:
    """Return the best age of each value of the trades that has one."""
    trades, orders = (column(path, "key")[: lab.pick(20_000, 2000)] for path in (TRADES, ORDERS))
    found = [
        best_age(np.flatnonzero(trades == key), np.flatnonzero(orders == key), WITHIN["stock"])
        for key in np.unique(trades)
    ]
    return np.array([age for age in found if age > 0])


GDJ_2 = Experiment(
    "gdj-2", "GDJ", "figures 2.1 and 2", "locality of stock trades", run, needs=(TRADES, ORDERS)
)
