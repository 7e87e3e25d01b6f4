"""Parameters found while running, beside every fixed one: results on many streams, and speed.

python bench/tuning.py --json bench/results/tuning.json

A row is one stream: the fixed parameter that is best for it in hindsight, its results, those of
`auto`, and their ratio. Generated streams are drawn several times and the results summed: of one
draw the best of many fixed parameters owes much to luck.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from penstock.engine import Join, Lookup

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.tuning_streams import Stream, caches, joins

PERCENTILES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1)
RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
STARTS = (1, 2)


class Family(NamedTuple):
    """A policy, how to write it with a fixed parameter, and how to let it find one."""

    auto: str
    fixed: tuple[str, ...]


LINEAR = ("clock", *(f"clock:rho={rate}" for rate in RATES))
FAMILIES = (
    Family("gdj:percentile=auto", tuple(f"gdj:percentile={each}" for each in PERCENTILES)),
    Family("clock:rho=auto", LINEAR),
    Family(
        "clock:rho=auto,w0=auto",
        (
            *LINEAR,
            *(f"clock:w0={start}" for start in STARTS),
            *(f"clock:w0={start},rho={rate}" for start in STARTS for rate in RATES[:-1]),
        ),
    ),
)


def play(stream: Stream, policy: str, rows: Any) -> tuple[int, str]:
    """Return the results of a policy on one draw of a stream, and what it ended with."""
    engine: Any
    if stream.caching:
        engine = Lookup(policy, stream.budget)
        engine.push(rows, emit=False)
        return engine.hits, str(engine.in_force)
    engine = Join(policy, stream.budget, **stream.options)
    side, key, at, end = rows
    engine.push(side, key, at, end=end, emit=False)
    return engine.results, str(engine.in_force)


def compare(stream: Stream, family: Family, runs: int) -> dict[str, Any]:
    """Return a row of the table."""
    policies = (family.auto, *family.fixed)
    found, ended = dict.fromkeys(policies, 0), []
    for seed in range(1, 1 + (runs if stream.drawn else 1)):
        rows = stream.make(seed)
        for policy in policies:
            results, end = play(stream, policy, rows)
            found[policy] += results
            if policy == family.auto:
                ended.append(end)
    auto = found.pop(family.auto)
    best = max(found, key=lambda policy: found[policy])
    return {
        "stream": stream.name,
        "policy": family.auto,
        "best": best,
        "results of best": found[best],
        "results of auto": auto,
        "ratio": auto / max(1, found[best]),
        "worst / best": min(found.values()) / max(1, found[best]),
        "ended with": sorted(set(ended)),
        "fixed": found,
    }


def table_of(rows: list[dict[str, Any]], family: Family) -> Table:
    table = Table(title=f"{family.auto} beside {len(family.fixed)} fixed ones")
    for column in ("stream", "best fixed", "its results", "auto", "ratio", "worst fixed"):
        table.add_column(column, justify="left" if column in ("stream", "best fixed") else "right")
    for row in rows:
        table.add_row(
            row["stream"],
            row["best"],
            f"{row['results of best']:,}",
            f"{row['results of auto']:,}",
            f"{row['ratio']:.3f}",
            f"{row['worst / best']:.2f}",
        )
    return table


def speeds(length: int) -> Iterator[tuple[str, int, float]]:
    """Yield the tuples a second of a join with and without tuning, by budget."""
    random = np.random.default_rng(1)
    side, key = random.integers(0, 2, length), random.integers(0, 200_000, length)
    at = np.arange(length)
    for budget in (100, 1_000, 10_000, 100_000):
        for policy in ("gdj", "gdj:percentile=auto", "clock", "clock:rho=auto"):
            join = Join(policy, budget, within=4 * budget)
            half = length // 2
            join.push(side[:half], key[:half], at[:half], emit=False)
            began = time.process_time()  # the machine may be shared
            join.push(side[half:], key[half:], at[half:], emit=False)
            yield policy, budget, (length - half) / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter draws, fewer files")
    parser.add_argument("--runs", type=int, default=5, help="draws of each generated stream")
    parser.add_argument("--policy", choices=[each.auto for each in FAMILIES], help="only this one")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console = Console(width=110)
    steps, runs = (10_000, 2) if given.quick else (50_000, given.runs)
    streams: list[Stream] = [*joins(steps), *caches(given.quick)]
    report: dict[str, Any] = {"steps": steps, "runs": runs, "rows": [], "tuples_per_second": []}
    families = [each for each in FAMILIES if given.policy in (None, each.auto)]
    for family in families:
        rows = [compare(stream, family, runs) for stream in streams]
        console.print(table_of(rows, family))
        below = [row["stream"] for row in rows if row["ratio"] < 0.98]
        console.print(f"{len(rows) - len(below)} of {len(rows)} within 2 %; below: {below}\n")
        report["rows"] += rows
    for policy, budget, rate in speeds(200_000 if given.quick else 2_000_000):
        console.print(f"{policy:24}{budget:>9,}{rate / 1e6:8.2f} M tuples/s")
        report["tuples_per_second"].append([policy, budget, rate])
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
