"""What `auto` takes beside the policy that it ends with, and how soon it finds its way back.

python bench/auto.py --json bench/results/auto.json     # minutes; --quick: fewer rows

Time and memory: a join of Zipf's streams, once under `auto` and once under the policy that ruled in
the end, by turns; processor time as a ratio, and the bytes that each saves. Changes: streams whose
kind changes abruptly, window by window as shares of the best fixed policy afterwards.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from penstock.engine import Join
from penstock.simulate.skewed import popularity

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.tuning_streams import changing

BUDGETS = (100, 1_000, 10_000, 100_000)
PUSHED = 100_000  # rows at a time
WINDOW, HELD, STEPS, AFTER = 1_000, 400, 40_000, 8  # of streams that change; windows shown
FIXED = ("rate", "prob", "lba", "gdj:percentile=0.2", "clock:rho=0.5", "lru", "fifo")
KINDS = {  # b and skew of the locality model, before and after
    "bursts, then Zipf 1": ((0.3, 0.0), (1.0, 1.0)),
    "Zipf 1, then bursts": ((1.0, 1.0), (0.3, 0.0)),
    "Zipf 0.75, then with bursts": ((1.0, 0.75), (0.3, 0.75)),
    "bursts and Zipf 0.75, then Zipf 1": ((0.3, 0.75), (1.0, 1.0)),
}


def taken(policy: str, budget: int, rows: int) -> tuple[float, Join]:
    """Return the processor time of a join, and the join."""
    random = np.random.default_rng(1)
    keys = random.permutation(4 * budget)
    key = keys[random.choice(4 * budget, rows, p=popularity(4 * budget, 0.75))]
    side, at = np.arange(rows) % 2, np.arange(rows) // 2
    join = Join(policy, budget, within=2 * budget)
    started = time.process_time()
    for first in range(0, rows, PUSHED):
        part = slice(first, first + PUSHED)
        join.push(side[part], key[part], at[part], emit=False)
    return time.process_time() - started, join


def bytes_of(join: Join) -> int:
    return sum(array.nbytes for array in join.save().values())


def costs(budget: int, rows: int, turns: int = 3) -> dict[str, Any]:
    """Compare `auto` with the policy that it ends with."""
    _, found = taken("auto", budget, rows)  # compiles
    alone = str(found.in_force)
    _, fixed = taken(alone, budget, rows)
    pairs = [(taken("auto", budget, rows)[0], taken(alone, budget, rows)[0]) for _ in range(turns)]
    return {
        "budget": budget,
        "rows": rows,
        "ends with": alone,
        "time": median(both / one for both, one in pairs) - 1,
        "memory": bytes_of(found) / bytes_of(fixed) - 1,
        "microseconds a tuple": 1e6 * median(both for both, _ in pairs) / rows,
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
    rows = 200_000 if asked.quick else 2_000_000
    table = Table("budget", "rows", "ends with", "time", "memory", "us a tuple")
    cost = []
    for budget in BUDGETS[:2] if asked.quick else BUDGETS:
        cost.append(each := costs(budget, rows))
        table.add_row(
            *(f"{each[name]:,}" for name in ("budget", "rows")),
            each["ends with"],
            *(f"{each[name]:+.0%}" for name in ("time", "memory")),
            f"{each['microseconds a tuple']:.2f}",
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
