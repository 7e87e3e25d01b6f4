"""Work for grids: joins of streams of one tuple a time unit, in a share of the full memory.

The papers' stock trades, weather and network flows are not to be had. In their place: trades and
orders of a stock exchange by row number, the dew points of one weather station in two years, and
the hosts that computers of a contest asked for.
"""

import functools
import gzip
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.csv

from papers.grid import figures
from papers.printed import prepared
from penstock.simulate.comparison import measure
from penstock.simulate.skewed import gdj, locality, zipf
from penstock.simulate.traces import JoinTrace, interleave

from .lab import data_folder

TRADES, ORDERS = (f"twostream/pecj_stock_{kind}.csv.gz" for kind in ("trades_cj", "orders_sb"))
WEATHER = "sensors/beijing_prsa_12stations_hourly.csv.gz"
FLOWS = "netflow/zeek_wrccdc2018_ssl.log.gz"
YEAR = 8760  # hours
WITHIN = {"synthetic": 500, "stock": 1000, "one tape": 1000, "dew point": 200, "stock, timed": 15}
FILES = {
    "stock, timed": (TRADES, ORDERS),
    "one tape": (TRADES,),
    "stock": (TRADES, ORDERS),
    "dew point": (WEATHER,),
    "network": (FLOWS,),
}
GENERATED: dict[str, Callable[..., JoinTrace]] = {
    "synthetic": gdj,
    "skewed": zipf,
    "repeating": locality,
}


def at_hand(*names: str) -> list[str]:
    """Return those of the streams whose data is there; generated ones always are."""
    return [
        name
        for name in names
        if all((data_folder() / file).exists() for file in FILES.get(name, ()))
    ]


def replay_streams(given: dict[str, Any]) -> dict[str, Any]:
    """Join some streams under a policy, after a warm-up of two windows.

    streams, length, run, options: which arrivals; `share` of the tuples that come in `within` + 1
    time units on average, which is what an exact join holds; policy, layout, drop; distortion: tell
    it too.

    >>> cell = {"streams": "synthetic", "length": 400, "within": 50, "share": 0.2, "policy": "prob"}
    >>> 0 < replay_streams(cell)["recall"] < 1
    True
    """
    told = json.dumps(given.get("options", {}))
    trace = _arrivals(given["streams"], given["length"], given.get("run", 0), told)
    within = given["within"]
    rate = len(trace) / int(trace.time[-1] - trace.time[0] + 1)
    memory = max(trace.streams, round(given["share"] * rate * (within + 1)))
    first = round(given.get("windows", 2) * within * rate)
    terms = prepared(given["policy"], trace, within, first)
    measured = measure(
        trace,
        terms.pop("policy"),
        memory,
        within=within,
        **terms,
        layout=given.get("layout", "split"),
        drop=given.get("drop", 0.0),
        first=first,
        seed=given.get("run", 0),
        with_distortion=given.get("distortion", False),
    )
    return figures(measured)


def keys_of(name: str) -> np.ndarray:
    """Return one real stream: int64[n]."""
    if name == "network":
        return hosts()
    return column(TRADES, "key")


@functools.lru_cache(maxsize=2)  # neighbours in a grid differ in policy and share only
def _arrivals(name: str, length: int, run: int, told: str) -> JoinTrace:
    options = json.loads(told)
    if name in GENERATED:
        return GENERATED[name](length, run, **options)
    if name == "dealt":
        return dealt(column(TRADES, "key"), options["count"], length)
    if name == "network":
        return dealt(hosts(), 2, length)
    if name == "one tape":
        return dealt(column(TRADES, "key"), 2, length)
    if name == "stock, timed":
        return timed(length)
    r, s = stock() if name == "stock" else dew_points()
    rows = min(len(r), len(s), length)
    side, key, time = interleave([r[:rows], s[:rows]])
    return JoinTrace(side, key, time, name=name)


def dealt(keys: np.ndarray, streams: int, length: int) -> JoinTrace:
    """Deal one sequence out to several streams by turns."""
    steps = min(length, len(keys) // streams)
    hands = keys[: streams * steps].reshape(steps, streams)
    side, key, time = interleave(list(hands.T))
    return JoinTrace(side, key, time, streams=streams, name="dealt")


def stock() -> tuple[np.ndarray, np.ndarray]:
    """Trades and orders, row by row; the row number is the time, for theirs is squeezed."""
    return column(TRADES, "key"), column(ORDERS, "key")


def timed(length: int) -> JoinTrace:
    """Trades and orders at their own times, of which many are equal; `length` of both together."""
    key, time = (
        np.concatenate([column(path, name) for path in (TRADES, ORDERS)])
        for name in ("key", "eventTime")
    )
    trades = len(column(TRADES, "key"))
    side = (np.arange(len(key)) >= trades).astype(np.int8)
    order = np.argsort(time, kind="stable")[:length]
    return JoinTrace(side[order], key[order], time[order], name="stock, timed")


def dew_points() -> tuple[np.ndarray, np.ndarray]:
    """The dew points of one station in two years, hour by hour, in tenths of a degree."""
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(data_folder() / WEATHER, convert_options=options)
    here = np.flatnonzero(table["station"].to_numpy() == "Aotizhongxin")
    celsius = table["DEWP"].take(here).drop_null().to_numpy()
    keys = np.rint(celsius * 10).astype(np.int64)
    return keys[:YEAR], keys[YEAR : 2 * YEAR]


def column(path: str, name: str) -> np.ndarray:
    """Return a column of a CSV file of the data folder: int64[n]."""
    return pyarrow.csv.read_csv(data_folder() / path)[name].to_numpy().astype(np.int64)


@functools.lru_cache(maxsize=1)
def hosts() -> np.ndarray:
    """The destination of each connection, in the order of their times, as numbers."""
    with gzip.open(data_folder() / FLOWS, "rt") as lines:
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
    rows.sort(key=lambda fields: float(fields[0]))
    return np.unique([fields[4] for fields in rows], return_inverse=True)[1].astype(np.int64)
