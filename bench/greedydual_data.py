"""The streams of `greedydual.py`: the paper's generator, and real ones like the paper's.

The paper's stock trades and weather are not to be had. In their place: trades and orders of a stock
exchange, and the dew points of one station in two years, hourly. Both need the data's folder.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.csv

from penstock.workloads import JoinTrace, gdj
from penstock.workloads.trace import interleave

DATA = Path(os.environ.get("PENSTOCK_DATA", "../shared/data"))
STOCK = [DATA / "twostream" / f"pecj_stock_{kind}.csv.gz" for kind in ("trades_cj", "orders_sb")]
WEATHER = DATA / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"
YEAR = 8760  # hours


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
    if STOCK[1].exists():
        found.append(Streams("stock", 1000, [_stock(length)]))
    if WEATHER.exists():
        found.append(Streams("dew point", 200, [_dew_points(length)]))
    return found


def many_streams(count: int, length: int, runs: int) -> list[Streams]:
    """Return streams for one join of all: the synthetic ones, and stock trades dealt by turns.

    Windows are short: results grow with their length to the power of the number of streams.
    """
    found = [synthetic(length, runs, within=50, streams=count)]
    if STOCK[0].exists():
        found.append(Streams("stock", 50, [dealt(_column(STOCK[0], "key"), count, length)]))
    return found


def synthetic(length: int, runs: int, within: int = 500, **options) -> Streams:
    """Return the paper's generator with its defaults, or with other options."""
    return Streams("synthetic", within, [gdj(length, seed, **options) for seed in range(runs)])


def dealt(keys: np.ndarray, streams: int, length: int) -> JoinTrace:
    """Deal one sequence out to several streams by turns."""
    steps = min(length, len(keys) // streams)
    hands = keys[: streams * steps].reshape(steps, streams)
    side, key, time = interleave(list(hands.T))
    return JoinTrace(side, key, time, streams=streams, name="dealt")


def _stock(length: int) -> JoinTrace:
    """Trades and orders, row by row; the row number is the time, for theirs is squeezed."""
    trades, orders = (_column(path, "key") for path in STOCK)
    rows = min(len(trades), len(orders), length)
    side, key, time = interleave([trades[:rows], orders[:rows]])
    return JoinTrace(side, key, time, name="stock")


def _dew_points(length: int) -> JoinTrace:
    """The dew points of one station in two years, hour by hour, in tenths of a degree."""
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(WEATHER, convert_options=options)
    here = np.flatnonzero(table["station"].to_numpy() == "Aotizhongxin")
    celsius = table["DEWP"].take(here).drop_null().to_numpy()
    keys, steps = np.rint(celsius * 10).astype(np.int64), min(length, YEAR)
    side, key, time = interleave([keys[:steps], keys[YEAR:][:steps]])
    return JoinTrace(side, key, time, name="dew point")


def _column(path: Path, name: str) -> np.ndarray:
    return pyarrow.csv.read_csv(path)[name].to_numpy().astype(np.int64)
