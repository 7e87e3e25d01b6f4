"""What a first match needs and finds, beside all matches, on one stream.

    python bench/first_match.py --json bench/results/first_match.json     # a minute

An impression (left) is followed by clicks (right) of its key within a window. Keys are drawn by
rank, and every click comes some time after an impression. Reported are the most rows held without
a budget, and what budgets of 5, 20 and 50 % of the rows that `all` needs find of it: pairs with
`all`, impressions that have a click with `first`, pairs with `one`.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from penstock.engine import Join

ROWS, KEYS, WINDOW, PUSH = 200_000, 20_000, 10_000, 1_000
CLICKED = 0.3  # of the impressions
SHARES = (0.05, 0.2, 0.5)
POLICIES = ("fifo", "prob", "rate")


def stream(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return side, key and time of impressions and the clicks that follow some of them."""
    random = np.random.default_rng(seed)
    chances = 1 / np.arange(1, KEYS + 1) ** 0.8
    key = random.choice(KEYS, ROWS, p=chances / chances.sum())
    time = np.arange(ROWS)
    clicked = np.flatnonzero(random.random(ROWS) < CLICKED)
    after = random.exponential(WINDOW / 4, len(clicked)).astype(np.int64) + 1
    side = np.repeat([0, 1], [ROWS, len(clicked)])
    key, time = np.append(key, key[clicked]), np.append(time, time[clicked] + after)
    order = np.lexsort((side, time))
    return side[order], key[order], time[order]


def run(match: str, budget: int | None, policy: str, rows: tuple) -> tuple[int, int]:
    """Return how many results there are, and the most rows that were held."""
    join = Join(policy, budget, within=(0, WINDOW), match=match)
    most = 0
    for first in range(0, len(rows[0]), PUSH):
        join.push(*(column[first : first + PUSH] for column in rows), emit=False)
        most = max(most, join.held)
    return join.results, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("bench/results/first_match.json"))
    given = parser.parse_args()
    rows = stream()
    exact = {match: run(match, None, "fifo", rows) for match in ("all", "first", "one")}
    needed = exact["all"][1]
    report: dict = {"rows": len(rows[0]), "exact": exact, "budgets": []}
    table = Table("match", "results", "rows held", *(f"{share:.0%}" for share in SHARES))
    for match, (results, held) in exact.items():
        cells = []
        for share in SHARES:
            found = {
                policy: run(match, int(share * needed), policy, rows)[0] / results
                for policy in POLICIES
            }
            report["budgets"].append({"match": match, "share": share, "found": found})
            cells.append(", ".join(f"{name} {value:.3f}" for name, value in found.items()))
        table.add_row(match, f"{results:,}", f"{held:,} ({held / needed:.0%})", *cells)
    Console(width=140).print(table)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
