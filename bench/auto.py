"""What `auto` takes beside the policy that it ends with, and how soon it finds its way back.

python bench/auto.py --json bench/results/auto.json     # minutes; --quick: fewer rows

Time and memory: joins and caches of keys by Zipf's law, once under `auto` and once under the policy
that was in force in the end, by turns; processor time, the least of some runs, and bytes. What it
finds on many streams is measured by `bench/choosing.py`. Changes: joins of streams whose kind
changes abruptly, window by window as shares of the best fixed policy afterwards.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from penstock.engine import Join, Lookup
from penstock.simulate.skewed import popularity

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.tuning_streams import changing

BUDGETS, SKEWS = (100, 1_000, 10_000), (1.0, 0.75)
ROWS, FEW_ROWS = 200_000, 12_000
PUSHED = 100_000  # rows at a time
WINDOW, HELD, STEPS, AFTER = 1_000, 400, 40_000, 8  # of streams that change; windows shown
FIXED = ("rate", "prob", "lba", "gdj:percentile=0.2", "clock:rho=0.5", "lru", "fifo")
KINDS = {  # b and skew of the locality model, before and after
    "bursts, then Zipf 1": ((0.3, 0.0), (1.0, 1.0)),
    "Zipf 1, then bursts": ((1.0, 1.0), (0.3, 0.0)),
    "Zipf 0.75, then with bursts": ((1.0, 0.75), (0.3, 0.75)),
    "bursts and Zipf 0.75, then Zipf 1": ((0.3, 0.75), (1.0, 1.0)),
}


def taken(
    kind: str, policy: str, budget: int, skew: float, rows: int
) -> tuple[float, Join | Lookup]:
    """Return the processor time of a join or a cache, and the engine."""
    random = np.random.default_rng(1)
    keys = random.permutation(4 * budget)
    key = keys[random.choice(4 * budget, rows, p=popularity(4 * budget, skew))]
    side, at = np.arange(rows) % 2, np.arange(rows) // 2
    join, cache = Join(policy, budget, within=2 * budget), Lookup(policy, budget)
    started = time.process_time()
    for first in range(0, rows, PUSHED):
        part = slice(first, first + PUSHED)
        if kind == "join":
            join.push(side[part], key[part], at[part], emit=False)
        else:
            cache.push(key[part], emit=False)
    return time.process_time() - started, join if kind == "join" else cache


def costs(kind: str, budget: int, skew: float, rows: int, turns: int = 5) -> dict[str, Any]:
    """Compare `auto` with the policy that it ends with."""
    _, found = taken(kind, "auto", budget, skew, rows)  # compiles
    alone = str(found.in_force)
    _, fixed = taken(kind, alone, budget, skew, rows)
    pairs = [
        [taken(kind, policy, budget, skew, rows)[0] for policy in ("auto", alone)]
        for _ in range(turns)
    ]
    auto, one = (1000 * min(column) for column in zip(*pairs))
    return {
        "kind": kind,
        "budget": budget,
        "skew": skew,
        "rows": rows,
        "ends with": alone,
        "alone, ms": one,
        "more, ms": auto - one,
        "time": auto / one - 1,
        "memory": found.nbytes / fixed.nbytes - 1,
        "results": found.attained / fixed.attained,
    }


def windows(policy: str, rows: tuple, start: int) -> np.ndarray:
    """Return the results of a join in each window from a row on."""
    side, key, at = rows[:3]
    join, found = Join(policy, HELD, within=WINDOW), []
    join.push(side[:start], key[:start], at[:start], emit=False)
    for first in range(start, start + 2 * WINDOW * AFTER, 2 * WINDOW):
        part = slice(first, first + 2 * WINDOW)
        before = join.results
        join.push(side[part], key[part], at[part], emit=False)
        found.append(join.results - before)
    return np.array(found)


def changes(seeds: int) -> Iterator[dict[str, Any]]:
    """Compare `auto` with the best fixed policy after a change, window by window."""
    for name, (first, second) in KINDS.items():
        shares = []
        for seed in range(seeds):
            rows = changing(STEPS, first, second, seed)
            fixed = [windows(policy, rows, STEPS) for policy in FIXED]
            best = max(fixed, key=lambda each: each.sum())
            shares.append(windows("auto", rows, STEPS) / np.maximum(best, 1))
        yield {"change": name, "shares": np.mean(shares, axis=0).round(3).tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    console = Console()
    table = Table("", "budget", "skew", "rows", "ends with", "ms", "more", "", "memory", "results")
    cost = []
    lengths = (FEW_ROWS,) if asked.quick else (ROWS, FEW_ROWS)
    for place in product(("join", "cache"), BUDGETS, SKEWS, lengths):
        cost.append(each := costs(*place))
        table.add_row(
            each["kind"],
            f"{each['budget']:,}",
            str(each["skew"]),
            f"{each['rows']:,}",
            each["ends with"],
            f"{each['alone, ms']:.1f}",
            f"{each['more, ms']:+.1f}",
            f"{each['time']:+.0%}",
            f"{each['memory']:+.0%}",
            f"{each['results']:.3f}",
        )
    console.print(table)
    changed = list(changes(1 if asked.quick else 3))
    numbers = map(str, range(1, AFTER + 1))
    table = Table("change", *numbers, title="windows after it, of the best fixed policy's results")
    for each in changed:
        table.add_row(each["change"], *(f"{share:.2f}" for share in each["shares"]))
    console.print(table)
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps({"costs": cost, "changes": changed}, indent=1))


if __name__ == "__main__":
    main()
