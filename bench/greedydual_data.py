"""The streams of `greedydual.py`: the paper's generator, and real ones like the paper's.

The paper's stock trades and weather are not to be had. In their place: trades and orders of a stock
exchange, and the dew points of one station in two years, hourly. Both need the data's folder.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.csv

from penstock.workloads import JoinTrace, gdj
from penstock.workloads.trace import interleave

DATA = Path(os.environ.get("PENSTOCK_DATA", "../shared/data"))
STOCK = [DATA / "twostream" / f"pecj_stock_{kind}.csv.gz" for kind in ("trades_cj", "orders_sb")]
WEATHER = DATA / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"


class Streams(NamedTuple):
    """One source of streams that bring one tuple each a time unit."""

    name: str
    within: int
    make: Callable[[int], list[JoinTrace]]  # told how many streams; a trace per run

    def full(self, streams: int = 2) -> int:
        """Return the tuples that an exact join holds."""
        return streams * (self.within + 1)


def sources(length: int, runs: int) -> list[Streams]:
    """Return the synthetic streams, and the real ones as far as they are there."""
    found = [synthetic(length, runs)]
    if all(path.exists() for path in STOCK):
        found.append(Streams("stock", 1000, lambda streams: [_stock(streams, length)]))
    if WEATHER.exists():
        found.append(Streams("dew point", 200, lambda streams: [_dew_points(streams, length)]))
    return found


def synthetic(length: int, runs: int, **options) -> Streams:
    """Return the paper's generator with its defaults, or with other options."""

    @cache
    def make(streams: int) -> list[JoinTrace]:
        return [gdj(length, seed, streams=streams, **options) for seed in range(runs)]

    return Streams("synthetic", 500, make)


def dealt(keys: np.ndarray, streams: int, length: int, name: str) -> JoinTrace:
    """Deal one sequence out to several streams by turns."""
    steps = min(length, len(keys) // streams)
    hands = keys[: streams * steps].reshape(steps, streams)
    side, key, time = interleave(list(hands.T))
    return JoinTrace(side, key, time, streams=streams, name=name)


@cache
def _stock(streams: int, length: int) -> JoinTrace:
    """Trades and orders, row by row in turns; the row number is the time, as theirs is squeezed."""
    trades, orders = (_column(path, "key") for path in STOCK)
    rows = min(len(trades), len(orders))
    both = np.stack([trades[:rows], orders[:rows]], axis=1).ravel()
    return dealt(both, streams, length, "stock")


@cache
def _dew_points(streams: int, length: int) -> JoinTrace:
    """The dew points of one station, a year to a stream, in tenths of a degree."""
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(WEATHER, convert_options=options)
    table = table.filter(pyarrow.compute.equal(table["station"], "Aotizhongxin"))
    celsius = table["DEWP"].drop_null().to_numpy()
    keys = np.rint(celsius * 10).astype(np.int64)
    steps = min(length, len(keys) // streams, 8760)
    side, key, time = interleave([keys[each * steps :][:steps] for each in range(streams)])
    return JoinTrace(side, key, time, streams=streams, name="dew point")


def _column(path: Path, name: str) -> np.ndarray:
    return pyarrow.csv.read_csv(path)[name].to_numpy().astype(np.int64)
