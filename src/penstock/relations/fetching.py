"""Fetch the rows of many keys: queries of bounded size, patience, answers that hold their word."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .answers import conform, places
from .patience import Patience, ask
from .source import Source


class Answer(NamedTuple):
    """What is known of the keys that were asked for."""

    rows: pa.Table  # the promised columns
    row: np.ndarray  # int64[asked]: which of the rows a key has, -1 for none
    sent: np.ndarray  # int64[asked]: when the question was sent, in microseconds


class Fetcher:
    """Asks a source, and counts."""

    def __init__(
        self,
        source: Source,
        promised: pa.Schema,
        patience: Patience,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.source = source
        self.promised = promised
        self.patience = patience
        self.clock = clock
        self.sleep = sleep
        self.counts = dict.fromkeys(("calls", "retries", "asked", "fetched"), 0)

    def fetch(self, keys: pa.Table) -> Answer:
        """Return the rows of some keys, all of them different."""
        parts = [
            self._ask(keys.slice(first, self.patience.size))
            for first in range(0, keys.num_rows, self.patience.size)
        ]
        tables = [part.rows for part in parts]
        rows = pa.concat_tables([self.promised.empty_table(), *tables]).combine_chunks()
        before = np.cumsum([0, *map(len, tables)])
        found = [
            np.where(part.row >= 0, part.row + start, -1)
            for part, start in zip(parts, before, strict=False)
        ]
        nothing = np.empty(0, np.int64)
        return Answer(
            rows,
            np.concatenate([nothing, *found]),
            np.concatenate([nothing, *(part.sent for part in parts)]),
        )

    def _ask(self, keys: pa.Table) -> Answer:
        source = self.source
        tried = ask(lambda: source.fetch(keys), self.patience, source, self.clock, self.sleep)
        rows = conform(tried.answer, self.promised, source.keys, source.name)
        row = places(keys, rows.select(list(source.keys)))
        self.counts["calls"] += tried.tries
        self.counts["retries"] += tried.tries - 1
        self.counts["asked"] += len(row)
        self.counts["fetched"] += int((row >= 0).sum())
        return Answer(rows, row, np.full(len(row), tried.sent))
