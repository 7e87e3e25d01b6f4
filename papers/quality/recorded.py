"""Streams that were recorded, as arrays in the order of time.

They lie in the folder that PENSTOCK_DATA names, else in ../shared/data; what is not there is left
out.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from ..experiments.lab import data_folder

SECOND = 1_000_000  # microseconds


class Rows(NamedTuple):
    """Two streams as one, in the order of time."""

    side: np.ndarray
    key: np.ndarray
    time: np.ndarray
    within: int


def merged(left: tuple, right: tuple, within: int) -> Rows:
    """Put the (key, time) of two streams into one order; keys of any kind become numbers."""
    names = np.unique(np.concatenate([np.asarray(left[0]), np.asarray(right[0])]))
    key = np.concatenate([np.searchsorted(names, side[0]) for side in (left, right)])
    time = np.concatenate([np.asarray(side[1], np.int64) for side in (left, right)])
    side = np.repeat(np.arange(2, dtype=np.int8), [len(left[0]), len(right[0])])
    order = np.lexsort((side, time))
    return Rows(side[order], key[order].astype(np.int64), time[order], within)


def parted(key: np.ndarray, time: np.ndarray, right: np.ndarray, within: int) -> Rows:
    """Make two streams of one; `right` tells which rows are of the second."""
    return merged((key[~right], time[~right]), (key[right], time[right]), within)


def stock(within: int = 1000) -> Rows:
    """Trades and orders; the number of a row in its file is its time."""
    names = ("pecj_stock_trades_cj.csv.gz", "pecj_stock_orders_sb.csv.gz")
    keys = [_table(data_folder() / "twostream" / name)["key"].to_numpy() for name in names]
    left, right = ((key, np.arange(len(key))) for key in keys)
    return merged(left, right, within)


def rovio(within: int = 2000) -> Rows:
    """One stream dealt out to two."""
    key = _table(data_folder() / "twostream" / "pecj_rovio.csv.gz")["key"].to_numpy()
    at = np.arange(len(key))
    return parted(key, at, at % 2 == 1, within)


def higgs(within: int) -> Rows:
    """Replies and retweets by who is replied to or retweeted."""
    with gzip.open(data_folder() / "twostream" / "higgs-activity_time.txt.gz", "rt") as file:
        rows = [line.split() for line in file]
    left, right = (
        tuple(np.array([[int(r[1]), int(r[2])] for r in rows if r[3] == kind]).T)
        for kind in ("RE", "RT")
    )
    return merged(left, right, within)


def netflow(within: int) -> Rows:
    """Addresses that DNS answered, and connections to them."""
    asked = [
        (answer, _micros(row["ts"]))
        for row in _zeek("dns")
        for answer in row["answers"].split(",")
        if answer[:1].isdigit()
    ]
    met = [(row["id.resp_h"], _micros(row["ts"])) for row in _zeek("ssl")]
    left, right = (tuple(np.array(column) for column in zip(*rows)) for rows in (asked, met))
    return merged(left, right, within)


def wind(column: str, within: int) -> Rows:
    """The stations' measurements, six stations to each side, by value; the time is in hours."""
    options = arrow_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    path = data_folder() / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"
    table = arrow_csv.read_csv(path, convert_options=options).select(["time", "station", column])
    table = table.drop_null()
    hour = np.unique(table["time"].to_numpy(), return_inverse=True)[1]
    station = np.unique(table["station"].to_numpy().astype(str), return_inverse=True)[1]
    value = np.rint(table[column].to_numpy() * 10).astype(np.int64)
    return parted(value, hour, station >= 6, within)


def trades(within: int) -> Rows:
    """Trades by symbol and price, those of one exchange and those of the others."""
    path = data_folder() / "trades" / "lean_equity_trade_ticks_20131007-11.csv.gz"
    table = _table(path)
    symbol = np.unique(table["symbol"].to_numpy().astype(str), return_inverse=True)[1]
    price = np.rint(table["price"].to_numpy() * 10_000).astype(np.int64)
    day = np.unique(table["date"].to_numpy(), return_inverse=True)[1]
    at = day * 86_400_000 + table["ms_of_day"].to_numpy()
    here = table["exchange"].to_numpy().astype(str) == "P"
    return parted(price * 8 + symbol, at, here, within)


def options(within: int) -> Rows:
    """Option trades by contract, dealt out to two sides."""
    table = _table(data_folder() / "trades" / "lean_option_minute_trades_many_contracts.csv.gz")
    key = np.unique(table["contract"].to_numpy().astype(str), return_inverse=True)[1]
    day = np.unique(table["date"].to_numpy(), return_inverse=True)[1]
    at = day * 86_400_000 + table["ms_of_day"].to_numpy()
    order = np.argsort(at, kind="stable")
    return parted(key[order], at[order], np.arange(len(key)) % 2 == 1, within)


def edits(within: int) -> Rows:
    """Edits by user, dealt out to two sides."""
    path = data_folder() / "weblogs" / "wikiticker-2015-09-12-sampled.json.gz"
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    at = np.array([row["time"].rstrip("Z") for row in rows], "datetime64[ms]").astype(np.int64)
    order = np.argsort(at, kind="stable")
    user = np.array([row["user"] for row in rows])[order]
    return parted(user, at[order], np.arange(len(user)) % 2 == 1, within)


def joins() -> dict[str, Callable[[], Rows]]:
    """Return the streams to join, by name."""
    known = {
        "stock, 1,000 rows": ("twostream", lambda: stock(1000)),
        "stock, 10,000 rows": ("twostream", lambda: stock(10_000)),
        "rovio, 2,000 rows": ("twostream", rovio),
        "higgs, 60 s": ("twostream", lambda: higgs(60)),
        "higgs, 1 hour": ("twostream", lambda: higgs(3600)),
        "dns and ssl, 10 s": ("netflow", lambda: netflow(10 * SECOND)),
        "dns and ssl, 60 s": ("netflow", lambda: netflow(60 * SECOND)),
        "wind speed, 1 day": ("sensors", lambda: wind("WSPM", 24)),
        "dew point, 1 week": ("sensors", lambda: wind("DEWP", 168)),
        "trades, 1 s": ("trades", lambda: trades(1000)),
        "trades, 1 min": ("trades", lambda: trades(60_000)),
        "options, 30 min": ("trades", lambda: options(1_800_000)),
        "edits, 1 hour": ("weblogs", lambda: edits(3_600_000)),
    }
    return {
        name: make for name, (folder, make) in known.items() if (data_folder() / folder).is_dir()
    }


def caches() -> dict[str, Callable[[], np.ndarray]]:
    """Return the references to cache, by name."""
    files: dict[str, Callable[[Path], np.ndarray]] = {
        "lirs_2_pools.trace.gz": numbers,
        "lirs_cpp.trace.gz": numbers,
        "lirs_gli.trace.gz": numbers,
        "lirs_sprite.trace.gz": numbers,
        "cloudPhysicsIO.csv.gz": blocks,
        "arc_OLTP.lis.gz": ranges,
        "arc_P3.lis.gz": ranges,
    }
    folder = data_folder() / "cache"
    return {
        name.partition(".")[0]: partial(read, folder / name)
        for name, read in files.items()
        if (folder / name).exists()
    }


def numbers(path: Path) -> np.ndarray:
    """Read a block's number a line; other lines are marks."""
    with gzip.open(path, "rt") as file:
        return np.array([int(line) for line in file if line.strip() and "*" not in line])


def blocks(path: Path) -> np.ndarray:
    """Read the column of block numbers."""
    with gzip.open(path, "rt") as file:
        return np.array([int(row["lbn"]) for row in csv.DictReader(file)])


def ranges(path: Path) -> np.ndarray:
    """Read lines of a first block and how many follow each other from there."""
    with gzip.open(path, "rt") as file:
        pairs = [tuple(map(int, line.split()[:2])) for line in file]
    return np.concatenate([np.arange(first, first + count) for first, count in pairs])


def _table(path: Path) -> pa.Table:
    return arrow_csv.read_csv(path)


def _zeek(kind: str) -> Iterator[dict[str, str]]:
    path = data_folder() / "netflow" / f"zeek_wrccdc2018_{kind}.log.gz"
    with gzip.open(path, "rt") as file:
        lines = list(file)
    names = next(line for line in lines if line.startswith("#fields")).rstrip("\n").split("\t")[1:]
    rows = (line.rstrip("\n") for line in lines if not line.startswith("#"))
    return csv.DictReader(rows, names, delimiter="\t", quoting=csv.QUOTE_NONE)


def _micros(seconds: str) -> int:
    return round(float(seconds) * SECOND)
