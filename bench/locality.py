"""Joins of streams with and without short-term correlations: where LBA, GDJ, CLOCK and PROB win.

python bench/locality.py --json bench/results/locality.json

The paper's own figures are `python -m papers reproduce locality`. Here: which policy suits which
streams.

One tuple a side a step. Streams of the locality model (h = 50, a_i falling as exp(-i / 15), 500
keys) are either *dealt*, one stream whose tuples go left and right in turn, so that what is hot on
one side is hot on the other, or *apart*, two streams that know nothing of each other. The stock
trades and orders are read from PENSTOCK_DATA, by row number.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.csv
from rich.console import Console
from rich.table import Table

from penstock.engine import Join
from penstock.simulate.skewed import locality

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
WINDOW = 1000
PERCENTILES = (0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
PLAIN = ("rand", "prob", "lba", "elba", "lru", "clock")
Pair = tuple[np.ndarray, np.ndarray]


def drawn(steps: int) -> Iterator[tuple[str, Pair]]:
    """Yield the generated streams, each with its name."""
    for b, zipf in ((0.3, 0.0), (0.3, 0.75), (0.3, 1.0), (1.0, 0.0), (1.0, 0.75), (1.0, 1.0)):
        name = f"{f'zipf {zipf:g}' if zipf else 'uniform'}, b = {b:g}"
        for dealt in (True, False) if b < 1 else (False,):
            key = locality(steps, 1, b=b, alpha=zipf, dealt=dealt).key
            yield f"{name}, {'dealt' if dealt else 'apart'}", (key[0::2], key[1::2])


def stock() -> Pair | None:
    """Return the keys of trades and orders, one a side a step; None where there is no data."""
    files = [
        DATA / "twostream" / f"pecj_stock_{name}.csv.gz" for name in ("trades_cj", "orders_sb")
    ]
    if not all(file.exists() for file in files):
        return None
    trades, orders = (pyarrow.csv.read_csv(file)["key"].to_numpy() for file in files)
    steps = min(len(trades), len(orders))
    return trades[:steps].astype(np.int64), orders[:steps].astype(np.int64)


def results(policy: str | None, pair: Pair, a_side: int, layout: str) -> int:
    """Return the results after a warm-up of four windows; without a policy nothing is lost."""
    key = np.stack(pair, axis=1).ravel()
    side, at = np.tile([0, 1], len(key) // 2), np.repeat(np.arange(len(key) // 2), 2)
    options = {"layout": layout} if policy else {}
    join = Join(policy or "fifo", 2 * a_side if policy else None, within=WINDOW, **options)
    warm = 8 * WINDOW
    join.push(side[:warm], key[:warm], at[:warm])
    before = join.results
    join.push(side[warm:], key[warm:], at[warm:])
    return join.results - before


def compare(pair: Pair, a_side: int, layout: str) -> dict[str, float]:
    """Return the share of all results that each policy finds."""
    full = results(None, pair, a_side, layout)
    found = {name: results(name, pair, a_side, layout) / full for name in PLAIN}
    by_percentile = {
        percentile: results(f"gdj:percentile={percentile}", pair, a_side, layout) / full
        for percentile in PERCENTILES
    }
    best = max(by_percentile, key=by_percentile.__getitem__)
    return found | {"gdj": by_percentile[best], "gdj's best percentile": best}


def speed(budget: int = 10_000, rows: int = 1_000_000) -> float:
    """Return LBA's tuples a second on a dealt stream of uniform popularity, once it is full."""
    key = locality(rows // 2, seed=1, domain=2 * budget).key
    side, at = np.tile([0, 1], rows // 2), np.arange(rows)
    join = Join("lba", budget, within=4 * budget)
    part = rows // 32
    seconds = []
    for start in range(0, rows, part):
        began = time.perf_counter()
        join.push(side[start : start + part], key[start : start + part], at[start : start + part])
        seconds.append(time.perf_counter() - began)
    return part / min(seconds[16:])


def show(console: Console, report: dict[str, dict[str, float]]) -> None:
    columns = [*PLAIN, "gdj", "gdj's best percentile"]
    table = Table(title=f"Share of all results, window {WINDOW:,}")
    for column in ("streams", *columns, "lba / prob"):
        table.add_column(column, justify="left" if column == "streams" else "right")
    for name, found in report.items():
        cells = [f"{found[column]:.3f}" for column in columns]
        table.add_row(name, *cells, f"{found['lba'] / found['prob']:.2f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000, help="of the generated streams")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    console = Console(width=150)
    report = {}
    for name, pair in drawn(args.steps):
        report[f"{name}, 200 a side"] = compare(pair, 200, "unified")
    pair = stock()
    if pair is None:
        console.print(f"no trades and orders in {DATA}; set PENSTOCK_DATA to the folder of data")
    else:
        for a_side in (200, 50):
            for layout in ("unified", "split"):
                report[f"stock, {a_side} a side, {layout}"] = compare(pair, a_side, layout)
    show(console, report)
    rate = speed()
    console.print(f"LBA at budget 10,000: {rate / 1e6:.2f} M tuples/s")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"shares": report, "lba tuples/s": rate}, indent=1) + "\n")


if __name__ == "__main__":
    main()
