"""The streams that tuned policies are measured on: drawn from models, and real ones.

Real data lies in the folder that PENSTOCK_DATA names, else in ../shared/data; without it those
streams are left out.
"""

import csv
import gzip
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from papers.quality.recorded import blocks, numbers, ranges
from penstock.profile.locality import Locality
from penstock.simulate.skewed import popularity, zipf
from penstock.simulate.traces import JoinTrace, interleave
from penstock.simulate.workloads import GENERATED

DATA = Path(os.environ.get("PENSTOCK_DATA", "../shared/data"))
DOMAIN, DEPTH, FALL = 500, 50, 15  # keys, h, and how fast a_i falls
BY_SIDE = {"within": 1000, "layout": "split"}

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


class Stream(NamedTuple):
    """A stream, and the memory that is to cope with it."""

    name: str
    make: Callable[[int], Any]  # from a seed: the columns of a join, or the keys of a cache
    budget: int
    options: dict[str, Any] = {}  # noqa: RUF012  of the join
    drawn: bool = True  # another seed, another stream
    caching: bool = False


def local(steps: int, b: float, skew: float, seed: int) -> Rows:
    """Draw two streams from the locality model."""
    a = np.exp(-np.arange(1, DEPTH + 1) / FALL)
    model = Locality((1 - b) * a / a.sum(), b, popularity(DOMAIN, skew))
    return *interleave([model.sample(steps, 2 * seed + side) for side in (0, 1)]), None


def changing(steps: int, first: tuple, second: tuple, seed: int) -> Rows:
    """Draw streams of which the second half is of another kind than the first."""
    one, two = local(steps // 2, *first, seed), local(steps // 2, *second, seed + 1000)
    side, key, time = (np.concatenate(pair) for pair in zip(one[:3], two[:3], strict=True))
    time[len(one[0]) :] += steps // 2
    return side, key, time, None


def columns(trace: JoinTrace) -> Rows:
    end = None if trace.end is None else np.maximum(trace.end, trace.time)
    return trace.side, trace.key, trace.time, end


def generated(name: str, steps: int, seed: int) -> Rows:
    return columns(GENERATED[name].join(steps, seed))


def skewed(steps: int, options: dict, seed: int) -> Rows:
    return columns(zipf(steps, seed, **options))


def joins(steps: int) -> Iterator[Stream]:
    """Yield the streams to be joined."""
    kinds = {
        "uniform, b = 0.3": (0.3, 0.0),
        "zipf 0.75, b = 0.3": (0.3, 0.75),
        "zipf 0.75": (1.0, 0.75),
        "zipf 1.0": (1.0, 1.0),
        "uniform": (1.0, 0.0),
    }
    for name, kind in kinds.items():
        yield Stream(name, partial(local, steps, *kind), 400, BY_SIDE)
    local_then_skewed = partial(changing, steps, (0.3, 0.0), (1.0, 1.0))
    yield Stream("uniform b = 0.3, then zipf", local_then_skewed, 400, BY_SIDE)
    skewed_then_local = partial(changing, steps, (1.0, 0.0), (0.3, 0.75))
    yield Stream("uniform, then zipf b = 0.3", skewed_then_local, 400, BY_SIDE)
    for name in ("tower", "roof", "floor", "walk"):
        yield Stream(f"{name}, 10", partial(generated, name, steps), 10, {"together": True})
    yield Stream("walk, 100", partial(generated, "walk", steps), 100, {"together": True})
    for budget in (400, 100):
        make = partial(skewed, steps, {})
        yield Stream(f"GDJ's generator, {budget}", make, budget, {"within": 1000})
    inverse = partial(skewed, steps, {"correlation": "inverse"})
    yield Stream("GDJ's, inverse, 400", inverse, 400, {"within": 1000})
    if (DATA / "twostream").is_dir():
        for budget in (400, 100):
            name = f"stock, {budget // 2} a side"
            yield Stream(name, lambda seed: stock(), budget, BY_SIDE, drawn=False)


def stock() -> Rows:
    """Read trades and orders; the number of a row in its file is its time."""
    keys = [first_column(DATA / "twostream" / name) for name in STOCK]
    side = np.repeat(np.arange(2, dtype=np.int8), [len(each) for each in keys])
    time = np.concatenate([np.arange(len(each)) for each in keys])
    order = np.lexsort((side, time))
    return side[order], np.concatenate(keys)[order], time[order], None


STOCK = ("pecj_stock_trades_cj.csv.gz", "pecj_stock_orders_sb.csv.gz")


def first_column(path: Path) -> np.ndarray:
    with gzip.open(path, "rt") as file:
        return np.array([int(row[0]) for row in list(csv.reader(file))[1:]])


def caches(quick: bool) -> Iterator[Stream]:
    """Yield the references to be cached."""
    folder = DATA / "cache"
    if not folder.is_dir():
        return
    files: dict[str, tuple[Callable[[Path], np.ndarray], tuple[int, ...]]] = {
        "lirs_2_pools.trace.gz": (numbers, (100, 1000)),
        "lirs_cpp.trace.gz": (numbers, (50, 300)),
        "lirs_gli.trace.gz": (numbers, (300, 1500)),
        "lirs_sprite.trace.gz": (numbers, (200, 1000)),
        "cloudPhysicsIO.csv.gz": (blocks, (1000, 10_000)),
        "arc_OLTP.lis.gz": (ranges, (1000, 10_000)),
        "arc_P3.lis.gz": (ranges, (10_000, 100_000)),
    }
    for name, (read, budgets) in files.items():
        if quick and name.startswith("arc"):
            continue
        for budget in budgets:
            made = partial(lambda seed, read, path: read(path), read=read, path=folder / name)
            short = name.partition(".")[0]
            yield Stream(f"{short}, {budget:,}", made, budget, drawn=False, caching=True)
