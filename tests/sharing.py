"""Buckets of a join as local engines that share one budget, as those of a query on Spark do."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from penstock.engine import Join
from penstock.engine.ledger import Ledger, digest, split_budget
from penstock.kernel.shape import TWO_WAY
from penstock.spark.runtime.labels import bucket_of


class Rows(NamedTuple):
    """Rows of two streams in the order of time."""

    side: np.ndarray
    key: np.ndarray
    time: np.ndarray

    def batches(self, size: int) -> Iterator["Rows"]:
        """Yield the rows in micro-batches of so many."""
        for start in range(0, len(self.key), size):
            yield self.where(slice(start, start + size))

    def where(self, rows: slice | np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.side[rows], self.key[rows], self.time[rows])


class Sharing:
    """The buckets of a join, which take one micro-batch after another."""

    def __init__(
        self,
        policy: str,
        buckets: int,
        budget: int,
        within: int,
        *,
        goal: str = "pairs",
        equal: bool = False,  # all buckets have the same share, and keep it
        spread: Callable[[np.ndarray, int], np.ndarray] = bucket_of,
    ):
        self.budget, self._within, self._spread = budget, within, spread
        self.ledger = None
        if buckets > 1 and not equal:
            self.ledger = Ledger(TWO_WAY, buckets, budget, within, spread, goal)
        self.engines = [
            Join(policy, share, within=within, seed=number, goal=goal)
            for number, share in enumerate(split_budget(budget, buckets))
        ]

    def take(self, rows: Rows) -> int:
        """Let every bucket take its rows of a micro-batch; return how many results they find."""
        before = self.results
        if self.ledger is not None:
            streams = (rows.where(rows.side == stream) for stream in (0, 1))
            digests = [
                digest(n, s.key, s.time, len(s.key), self._within) for n, s in enumerate(streams)
            ]
            shares = self.ledger.take(digests)
        bucket = self._spread(rows.key, len(self.engines))
        for number, engine in enumerate(self.engines):
            if self.ledger is not None:
                engine.resize(int(self.ledger.during[number]))
            engine.push(*rows.where(bucket == number), emit=False)
            if self.ledger is not None:
                engine.resize(int(shares[number]))
            assert self.held <= self.budget
        return self.results - before

    @property
    def held(self) -> int:
        """How many rows the buckets hold together."""
        return sum(engine.held for engine in self.engines)

    @property
    def rows_matched(self) -> int:
        """How many rows have found a partner."""
        return sum(int(engine.counters["rows_matched"].sum()) for engine in self.engines)

    @property
    def results(self) -> int:
        """How many results the buckets have found."""
        return sum(engine.results for engine in self.engines)


def results(rows: Rows, batch: int, sharing: Sharing) -> np.ndarray:
    """Return how many results buckets find in each micro-batch of `batch` rows."""
    return np.array([sharing.take(part) for part in rows.batches(batch)])
