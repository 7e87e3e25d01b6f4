"""The streams that the Spark benchmarks join: Parquet files, one a side and micro-batch.

By default a window of 100 s at 1,000 rows a second and side, whose keys give about one match a row.
The first file of a side fills the window, so that every later micro-batch meets a full state.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE = 1_000  # rows a second and side
DELAY = 10  # seconds
SCHEMAS = {
    "narrow": "k long, ts timestamp",
    "numeric": "k long, ts timestamp, v double",
    "strings": "k long, ts timestamp, a string, b string",
}
WORDS = np.array([f"word-{number:06d}" for number in range(10_000)])
HOT = 0  # the key of a skewed stream


@dataclass(frozen=True)
class Workload:
    """Two streams, as they are cut into micro-batches."""

    name: str
    kind: str  # of payload: narrow (none), numeric or strings
    rows: int  # a micro-batch, both sides together
    window: int = 100  # seconds
    delay: int = DELAY  # seconds
    hot: float = 0.0  # share of the rows that have one key; on the left alone, see `_keys`
    burst: int = 1  # after 20 quiet micro-batches one is so many times as large
    jump: int = 0  # seconds of silence before every fifth micro-batch

    @property
    def window_rows(self) -> int:
        """Rows that an exact join holds."""
        return 2 * RATE * (self.window + self.delay)


def write_files(folder: Path, work: Workload, batches: int) -> list[int]:
    """Write the files and return the rows of each micro-batch."""
    sizes = [max(work.rows, work.window_rows) // 2]
    for number in range(1, batches):
        sizes.append(work.rows // 2 * (work.burst if number % 21 == 20 else 1))
    for side in (0, 1):
        (folder / f"side{side}").mkdir(parents=True)
        random, start = np.random.default_rng(side), 0
        for number, size in enumerate(sizes):
            start += work.jump * 1_000_000 if number % 5 == 4 else 0
            micros = start + np.arange(size) * (1_000_000 // RATE)
            start = int(micros[-1]) + 1
            path = folder / f"side{side}" / f"{number:05d}.parquet"
            pq.write_table(_table(work, random, side, micros), path)
            os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files in this order
    return [2 * size for size in sizes]


def _table(work: Workload, random: np.random.Generator, side: int, micros: np.ndarray) -> pa.Table:
    columns = {
        "k": _keys(work, random, side, len(micros)),
        "ts": pa.array(micros).view(pa.timestamp("us", "UTC")),
    }
    if work.kind == "numeric":
        columns["v"] = random.random(len(micros))
    elif work.kind == "strings":
        for name in ("a", "b"):
            columns[name] = WORDS[random.integers(0, len(WORDS), len(micros))]
    return pa.table(columns)


def _keys(work: Workload, random: np.random.Generator, side: int, count: int) -> np.ndarray:
    """Draw keys that match about once a row.

    A hot key fills its share of all rows from the left side alone and is rare on the right: with
    many on both sides the results, and not the rows, would be what is measured.
    """
    keys = random.integers(1, 2 * work.window * RATE, count)
    if work.hot:
        share = 2 * work.hot if side == 0 else 1 / (work.window * RATE)
        keys[random.random(count) < share] = HOT
    return keys
