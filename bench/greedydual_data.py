"""The streams of `greedydual.py`: the paper's generator, and real ones like the paper's.

The paper's stock trades and weather are not to be had. In their place: trades and orders of a stock
exchange, and the dew points of one station in two years, hourly. Both need the data's folder.
"""

from typing import NamedTuple

import numpy as np

from penstock.experiments.streams import TRADES, at_hand, column, dealt, dew_points, stock
from penstock.workloads import JoinTrace, gdj
from penstock.workloads.trace import interleave


class Streams(NamedTuple):
    """One source of streams that bring one tuple each a time unit."""

    name: str
    within: int
    traces: list[JoinTrace]  # one per run

    @property
    def full(self) -> int:
        """The tuples that an exact join holds."""
        return self.traces[0].streams * (self.within + 1)


def two_streams(length: int, runs: int) -> list[Streams]:
    """Return the synthetic streams, and the real ones as far as they are there."""
    found = [synthetic(length, runs)]
    if at_hand("stock"):
        found.append(Streams("stock", 1000, [_two("stock", stock(), length)]))
    if at_hand("dew point"):
        found.append(Streams("dew point", 200, [_two("dew point", dew_points(), length)]))
    return found


def many_streams(count: int, length: int, runs: int) -> list[Streams]:
    """Return streams for one join of all: the synthetic ones, and stock trades dealt by turns.

    Windows are short: results grow with their length to the power of the number of streams.
    """
    found = [synthetic(length, runs, within=50, streams=count)]
    if at_hand("stock"):
        found.append(Streams("stock", 50, [dealt(column(TRADES, "key"), count, length)]))
    return found


def synthetic(length: int, runs: int, within: int = 500, **options) -> Streams:
    """Return the paper's generator with its defaults, or with other options."""
    return Streams("synthetic", within, [gdj(length, seed, **options) for seed in range(runs)])


def _two(name: str, keys: tuple[np.ndarray, np.ndarray], length: int) -> JoinTrace:
    rows = min(len(keys[0]), len(keys[1]), length)
    side, key, time = interleave([each[:rows] for each in keys])
    return JoinTrace(side, key, time, name=name)
